# A run of keys begins in tiles that other threads still read.
# file: kernels/gpu/flash_wgmma_backward.cu
# tests: test_races_cuda_attention
s/__syncthreads(); .* other threads may still read the last run.*/;/
