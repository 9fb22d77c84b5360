# A member adds the first rows of the positions' table.
# file: kernels/gpu/embedding.cu
# tests: test_emulated_cuda_kernels
s/sl_position(&s.at, r % s.T)/(r % s.T)/
