# Pieces of a buffer are one request where segments expand, too.
# file: core/place/reserve.c
# tests: test_reserve
s/return plan->n_micro > 1 \&\& .*/return plan->n_micro > 1;/
