# The sums of the last part of a key head's query heads are not added.
# file: kernels/gpu/flash_mma_gradient.cuh
# tests: test_emulated_cuda_attention
s/for (int part = 0; part < parts.count; part++)/for (int part = 0; part + 1 < parts.count; part++)/
