# The next values are copied over those that other warps still read.
# file: kernels/gpu/flash_mma_forward.cu
# tests: test_emulated_cuda_attention
s/__syncthreads(); .* these keys are complete.*/;/
