# The later chunks of members come in the members' order, not in the opposite one.
# file: kernels/gpu/context.cu
# tests: test_emulated_cuda_kernels
s/chunks - 1 - i : i,/i - members : i,/
