# Gradients of scores are written over those that other threads still read.
# file: kernels/gpu/attention.cu
# tests: test_races_cuda_attention
s/__syncthreads(); .* other threads may still read ds and masked.*/;/
