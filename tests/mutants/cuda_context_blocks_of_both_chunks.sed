# Blocks of queries are counted as if the chunks of a member were one.
# file: kernels/gpu/attention.cuh
# tests: test_emulated_cuda_attention
s/return (front + rows - 1) \/ rows + (back + rows - 1) \/ rows;/return (front + back + rows - 1) \/ rows;/
