# The next keys are loaded over those that other threads still read.
# file: kernels/gpu/flash_attention.cu
# tests: test_races_cuda_attention
s/__syncthreads(); .* other threads may still read K, V and scores.*/;/
