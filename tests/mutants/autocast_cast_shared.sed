# Eager PyTorch casts the input of several products once.
# file: core/models/linear.c
# tests: test_autocast_casts
s/if (count > 1 \&\& sl_autocast_casts_apart(g->l))/if (count > 3 \&\& sl_autocast_casts_apart(g->l))/
