# A member turns its heads by its own count of tokens.
# file: kernels/llama.c
# tests: test_kernels_context
s/sl_position(&s.at, t)/t/
