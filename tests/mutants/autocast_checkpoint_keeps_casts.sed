# A checkpoint keeps the forward's casts of weights.
# file: core/models/autocast.c
# tests: test_autocast_casts
s/return asked == SL_RECOMPUTE_FULL || asked == SL_RECOMPUTE_SELECTIVE_OP;/return asked > SL_RECOMPUTE_SELECTIVE_OP;/
