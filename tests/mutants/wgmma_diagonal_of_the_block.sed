# Whether a tile is masked is asked for the block's first query, not for the warpgroup's.
# file: kernels/gpu/flash_wgmma_forward.cu
# tests: test_emulated_cuda_attention
s/if (at_edge(own, 64, j0, keys, window))/if (at_edge(own + 64, 64, j0, keys, window))/
