# An evaluation draws dropout like a step.
# file: core/lower/zero.c
# tests: test_cli_evaluate
s/if (l->zero->evaluates) drop_dropout/if (l->zero->evaluates \&\& d.op.lane != SL_LANE_COMPUTE) drop_dropout/
