# Vectors of 16 bytes are read from addresses of a multiple of 4.
# file: kernels/gpu/device.cuh
# tests: test_bounds_cuda_kernels
s/return (uintptr_t)p % 16 == 0;/return (uintptr_t)p % 4 == 0;/
