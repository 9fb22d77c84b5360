# The pieces of a row in shared memory change places with three bits of the row in the copy, two in what the tensor cores read.
# file: kernels/gpu/wgmma.cuh
# tests: test_emulated_cuda_attention
s/((c \/ 8 ^ r) & 7)/((c \/ 8 ^ (r \& 3)) \& 7)/
