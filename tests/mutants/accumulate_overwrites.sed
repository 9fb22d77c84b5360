# The second micro-batch overwrites the flat gradient of the first.
# file: core/lower/bind.c
# tests: golden_1 grid3d_1
s/return r->seen\[placed\] > 0 || (sl_gradients_kept(l, placed) \&\& !sl_gradients_sharded(l));/return r->seen[placed] > 0;/
