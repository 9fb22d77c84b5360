# Whatever stands in OMP_NUM_THREADS and its like is left to libgomp.
# file: core/run/executor.c
# tests: test_cli_truths
s/SL_TRY(sl_openmp_load());/(void)name;/
