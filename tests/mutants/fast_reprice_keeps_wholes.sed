# New numbers do not reach steps that are played as a whole.
# file: fast/fast.c
# tests: test_fast_reprice
s/  SL_TRY(sl_fast_wholes_price(\&f->wholes, \&f->rank.kernel_costs));//
