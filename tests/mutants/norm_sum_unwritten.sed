# What a norm takes in is normalised, but the residual stream is not written.
# file: kernels/gpu/norm_forward.cuh
# tests: test_emulated_cuda_kernels
s/norm_store(x + r \* C + c, in\[first + k\]);/(void)x;/
