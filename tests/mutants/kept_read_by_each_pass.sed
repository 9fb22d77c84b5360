# A backward reads also what was kept for the op before.
# file: core/models/passes.c
# tests: test_kernel_sets
s/ || (r->op >= 0 \&\& k.op != r->op)) continue;/) continue;/
