# OLMo 2's norms multiply by their weights in 16 bits.
# file: core/plan/kernels.c
# tests: test_kept
s/return form->norms_from_one || form->norms == SL_NORMS_AFTER;/return form->norms_from_one;/
