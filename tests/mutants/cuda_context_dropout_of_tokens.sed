# Dropout's rows are as long as a member's tokens, not as the keys.
# file: kernels/gpu/attention.cuh
# tests: test_emulated_cuda_attention
s/\* s.keys + t) \* s.keys;/* s.T + t) * s.T;/
