# What a norm takes in is normalised, but the residual stream is not written.
# file: kernels/gpu/norm.cuh
# tests: test_emulated_cuda_kernels
/^    in\[k\] = norm_rounded<T>(v);/{n;d}
