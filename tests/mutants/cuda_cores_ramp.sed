# A tile on CUDA cores begins and ends in as many steps of k as one on tensor cores.
# file: cost/gemm.c
# tests: test_cost_kernels
s/  return sl_gemm_on_cuda_cores(device, dtype) ? g->ramp .*/  return sl_gemm_on_cuda_cores(device, dtype) ? g->ramp : g->ramp;/
