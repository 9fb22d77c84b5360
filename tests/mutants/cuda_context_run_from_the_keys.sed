# Queries of a later chunk are taken from the position of the keys on, not from their own first.
# file: kernels/gpu/attention.cuh
# tests: test_emulated_cuda_attention
s/if (r.first < key) r.first = key;/r.first = key;/
