# What a framework launches beside rotary positions is counted for q alone where q, k and v are packed.
# file: core/models/passes.c
# tests: test_packing test_kernel_sets
s/op->kind != SL_OP_ROPE || op->dim\[4\] == 0/true/
