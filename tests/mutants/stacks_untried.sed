# Nobody asks whether threads have room for the stacks of OMP_STACKSIZE.
# file: core/run/openmp.c
# tests: test_cli_truths
s/  return check_stacks();/  (void)check_stacks;\n  return SL_OK;/
