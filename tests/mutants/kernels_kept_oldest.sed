# A backward reads what the oldest forward of its layer kept, not the newest.
# file: core/models/passes.c
# tests: test_kernel_sets
s/for (size_t i = p->count; i-- > 0;) {/for (size_t i = 0; i < p->count; i++) {/
