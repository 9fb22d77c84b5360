# A tile of values is multiplied before its copies are waited for.
# file: kernels/gpu/flash_mma_forward.cu
# tests: test_emulated_cuda_attention
/^    soften<F>/{n;s/copy_wait<0>();//}
