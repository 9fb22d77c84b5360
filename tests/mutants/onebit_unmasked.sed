# A number that never had a gradient gets the momentum of its bit.
# file: kernels/onebit.c
# tests: test_kernels_onebit
s|v\[i\] > 0 ? number_of|v[i] >= 0 ? number_of|
