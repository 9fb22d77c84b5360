# A bucket's gather starts no sooner than the op that reads it.
# file: core/lower/ahead.c
# tests: test_param_gather
s/return next < l->pp_rank->unit_count \&\&/return next < 0 \&\&/
