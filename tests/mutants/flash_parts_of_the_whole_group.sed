# Every part takes all query heads of its key head.
# file: kernels/gpu/flash_mma_gradient.cuh
# tests: test_emulated_cuda_attention
s/of_part = group \/ each;/of_part = group;/
