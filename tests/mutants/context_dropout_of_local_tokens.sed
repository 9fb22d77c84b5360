# Forward draws dropout by a member's tokens, not by their positions.
# file: kernels/flash_attention.c
# tests: test_kernels_context
s/h->first + t \* keys + j0/h->first + (t0 + r) * keys + j0/
