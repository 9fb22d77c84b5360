# Every GELU is written in Python.
# file: core/models/passes.c
# tests: test_kernel_set_rows
s/if (activation \&\& p->l/if (activation \&\& false \&\& p->l/
