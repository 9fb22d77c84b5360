# A norm's backward adds to parts of a sum that other threads still read.
# file: kernels/gpu/norm_backward.cuh
# tests: test_races_cuda_kernels
s/__syncthreads(); .* the other half of `part` may still be read.*/;/
