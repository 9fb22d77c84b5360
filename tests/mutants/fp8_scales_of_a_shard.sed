# Tensor-parallel ranks do not agree on scales.
# file: core/lower/scaling.c
# tests: test_own_casts fp8_2
s/SL_TRY(agree(l, p, SL_GROUP_TP, l->plan->tp));//
