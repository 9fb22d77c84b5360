# A bucket that is all-reduced in place is copied first.
# file: core/lower/take.c
# tests: test_whole_sums
s/ \&\& l->plan->config->zero.reduce_scatter)/)/
