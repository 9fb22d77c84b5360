# The sums of the parts of query heads lie as close as a member's tokens, not as the keys.
# file: kernels/gpu/flash_mma_gradient.cuh
# tests: test_emulated_cuda_attention
s/(2 \* part + which) \* a.s.B \* a.s.keys/(2 * part + which) * a.s.B * a.s.T/
