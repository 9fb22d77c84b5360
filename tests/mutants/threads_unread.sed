# Whatever stands in OMP_NUM_THREADS is left to libgomp.
# file: core/run/executor.c
# tests: test_cli_truths
s/if (loaded == NULL) SL_TRY(check_threads(name));//
s/^static enum sl_status check_threads/__attribute__((unused)) &/
