# What Transformer Engine keeps of its casts of weights needs no memory.
# file: core/lower/scaling.c
# tests: test_fp8_weights
s/  SL_TRY(keep_casts(l));/  (void)keep_casts;/
