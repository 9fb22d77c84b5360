# On GPUs each rank counts time from when it began, so that not the first of the ranks' anomalies is told.
# file: backend/cuda/open.c
# tests: test_cuda_backend
s/^static enum sl_status start_clock/__attribute__((unused)) &/
s/  SL_GO_FAIL(start_clock(cuda));//
s/  cuda->call_hash = SL_HASH_CALLS;/&\n  cuda->epoch_s = sl_machine_clock();/
