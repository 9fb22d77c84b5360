# Autograd adds a 16-bit gradient without casting it.
# file: core/lower/reduce.c
# tests: test_autocast_casts
s/const bool casts = l->compute != l->dtype/const bool casts = l->compute == l->dtype/
