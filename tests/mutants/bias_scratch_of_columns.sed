# The scratch of a bias's gradient has room for one block of rows.
# file: backend/cuda/workspace.c
# tests: test_cuda_events
s/sl_cuda_reduce_bias_scratch_bytes((size_t)sums->dim\[0\],/sl_cuda_reduce_bias_scratch_bytes(1,/
