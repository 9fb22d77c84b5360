# A logit becomes a gradient that other threads still read.
# file: kernels/gpu/classifier.cu
# tests: test_races_cuda_kernels
s/__syncthreads(); .* all threads have read the target.*/;/
