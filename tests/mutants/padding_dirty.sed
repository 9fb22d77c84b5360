# The flat space's padding is not cleared before it is reduced.
# file: core/lower_zero.c
# tests: golden_2 equivalence_2
s/  if (count == 0) return SL_OK;/  if (count >= 0) return SL_OK;/
