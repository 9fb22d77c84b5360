# The later chunks of members come in the members' order, not in the opposite one.
# file: kernels/context.c
# tests: test_kernels_context
s/chunks - 1 - chunk : chunk/chunk - members : chunk/
