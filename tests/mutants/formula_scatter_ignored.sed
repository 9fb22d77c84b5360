# A prediction by formulas has no interval.
# file: cost/error.c
# tests: test_error
s/return d->formula_scatter;/return 0;/
