# A prediction counts as many bytes for the states of fp8 as for the moments.
# file: core/checkpoint/pieces.c
# tests: test_scales
s/roles\[r\] < SL_ROLE_FP8_SCALE &&/r > 0 \&\&/
