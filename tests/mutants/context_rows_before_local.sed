# Which queries are before a key is asked of a member's tokens, not of their positions.
# file: kernels/flash_attention_backward.c
# tests: test_kernels_context
s/sl_position(&s->at, t0 + r) < j/t0 + r < j/
