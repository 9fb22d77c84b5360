# Odd rows slow CUDA cores down, too.
# file: cost/gemm.c
# tests: test_cost_kernels
s/sl_gemm_on_cuda_cores(device, dtype) || sl_gemm_is_aligned/sl_gemm_is_aligned/
