# ZeRO-1 lets go of a single rank's gradients before its copies are made.
# file: core/lower/update.c
# tests: test_whole_sums
s/const bool others = !sl_gradients_sharded(l) \&\& l->plan->dp_cp > 1;/const bool others = !sl_gradients_sharded(l);/
