# A block of keys that no query sees returns before its copies are done.
# file: kernels/gpu/flash_mma_backward.cu
# tests: test_emulated_cuda_attention
/copy_commit(), copy_wait<0>();/d
