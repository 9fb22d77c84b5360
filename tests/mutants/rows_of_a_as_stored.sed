# A transposed left operand has rows of k.
# file: cost/measured.c
# tests: test_fit_gpu
s/is_whole(work->dtype, a ? m : k)/is_whole(work->dtype, a ? 0 * m + k : k)/
