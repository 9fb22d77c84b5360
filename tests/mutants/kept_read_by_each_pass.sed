# Every pass behind a backward op reads what was kept, also that of the op before.
# file: core/models/passes.c
# tests: test_kernel_sets
/      first = false;/d
