# LayerNorms on the GPU multiply by weight alone.
# file: kernels/gpu/layernorm.cu
# tests: test_emulated_cuda_kernels
s/rows, C, eps, from_one, taken_in/rows, C, eps, from_one * 0, taken_in/
