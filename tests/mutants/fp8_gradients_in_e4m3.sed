# Gradients are cast to E4M3, whose numbers end at 448.
# file: core/models/own_casts.c
# tests: test_own_casts fp8_1
s/f->role == SL_FP8_GRADIENT .*? SL_E5M2 : SL_E4M3/SL_E4M3/
