# Batched products on CUDA cores reach the share of the peak that tensor cores do.
# file: cost/attention.c
# tests: test_cost_kernels
s/sl_gemm_on_cuda_cores(d, work->dtype) ? d->gemm_efficiency : batched/batched/
