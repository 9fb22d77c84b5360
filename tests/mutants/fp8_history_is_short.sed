# The oldest step of a history does not count.
# file: kernels/fp8.c
# tests: test_kernels_fp8
s/largest_of(0, of, H)/largest_of(0, of, H - 1 + (H == 1))/
