# A checkpoint's state of fp8 may have any shape.
# file: core/checkpoint/fits.c
# tests: test_scales
s/    if (t->role < SL_ROLE_FP8_SCALE) continue;/    if (t->role >= SL_ROLE_PARAM) continue;/
