# A prediction by formulas has no interval.
# file: cost/error.c
# tests: test_error
s/return error->rank->fitted || !(d->installation_scatter > 0) ? d->formula_scatter : d->installation_scatter;/return 0;/
