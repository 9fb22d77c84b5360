# A tile that the window only cuts at its last query counts as wholly seen.
# file: kernels/gpu/flash_mma_tile.cuh
# tests: test_emulated_cuda_attention
s/t + queries - 1 - key >= window/t + 0 * queries - key >= window/
