# Lanes that share a block of random numbers keep the other's half of it.
# file: kernels/gpu/flash_mma_tile.cuh
# tests: test_emulated_cuda_attention
s/return odd ? other >> 2 | (mine \& 12)/return odd ? (other \& 3) | (mine \& 12)/
