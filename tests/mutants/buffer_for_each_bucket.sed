# Whole gradients that are communicated in another type have a buffer for each bucket.
# file: core/lower/bucket.c
# tests: test_copied_back
s/open->alone |= sl_gradients_sharded(l) \&\& r->alone\[i\]/open->alone |= !sl_gradients_sharded(l) || r->alone[i]/
