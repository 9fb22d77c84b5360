# Added gradients of positions reach as far as a member has tokens.
# file: kernels/gpu/embedding.cu
# tests: test_emulated_cuda_kernels
s/if (accumulate_wpe \&\& s.at.chunk == 0)/if (accumulate_wpe)/
