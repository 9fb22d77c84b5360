# Every pass behind a backward op reads what was kept, also that of the op before.
# file: core/models/passes.c
# tests: test_kernel_sets
s/if (backward \&\& first) read_kept/if (backward) read_kept/
