# A backward reads one of the tensors that its forward kept.
# file: core/models/passes.c
# tests: test_kept
s/if (backward) read_kept/if (backward \&\& r->op < 0) read_kept/
