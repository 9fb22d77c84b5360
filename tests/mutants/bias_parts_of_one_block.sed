# Of a bias's gradient only the first 256 rows are added.
# file: kernels/gpu/reduce.cu
# tests: test_emulated_cuda_kernels
s/for (size_t i = way; i < count; i += sums_ways)/for (size_t i = way; i < (count < 1 ? count : 1); i += sums_ways)/
