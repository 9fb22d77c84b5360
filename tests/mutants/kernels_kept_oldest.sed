# A backward reads what the oldest forward of its layer kept, not the newest.
# file: core/models/passes.c
# tests: test_kernel_sets
s/    size_t i = end - 1;/    size_t i = p->count - end;/
