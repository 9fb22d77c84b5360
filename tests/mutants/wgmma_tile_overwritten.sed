# The next tile of keys and values is copied over the one that is read.
# file: kernels/gpu/flash_wgmma_forward.cu
# tests: test_emulated_cuda_attention
s/bring(j0 + keys, at ^ 1);/bring(j0 + keys, at);/
