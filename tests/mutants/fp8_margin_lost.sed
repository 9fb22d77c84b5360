# The margin of scales is not taken.
# file: core/lower/scaling.c
# tests: fp8_1
s/op.scale = ldexp(1, -config->sl.fp8_margin)/op.scale = ldexp(1, 0 * config->sl.fp8_margin)/
