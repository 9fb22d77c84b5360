# The input's half of a norm's backward is the last to read what was kept.
# file: core/models/passes.c
# tests: test_kernel_sets
/if (op->flags & SL_OP_INPUT_GRAD) return;/d
