# A window of tokens is looked at while other threads still read the last one's.
# file: kernels/gpu/embedding.cu
# tests: test_races_cuda_kernels
s/__syncthreads(); .* other threads may still read the previous window.*/;/
