# Gradients in E4M3 have the scales of E5M2.
# file: core/lower/scaling.c
# tests: fp8_1
s/fp8_format == SL_FP8_ALL_E4M3/fp8_format > SL_FP8_ALL_E4M3/
