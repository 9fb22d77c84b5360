# A copy between memories moves bytes where it was to convert numbers.
# file: backend/cuda/dispatch.c
# tests: test_cuda_offload
s/c->dtype\[SL_AT_OUT\] == c->dtype\[SL_AT_X\]) {/c->dtype[SL_AT_OUT] <= SL_F16) {/
