# Rows of a tile in shared memory begin at multiples of 8 bytes.
# file: kernels/gpu/mma.cuh
# tests: test_bounds_cuda_attention
s/static constexpr int stride = W + 8;/static constexpr int stride = W + 4;/
