# The next stage is not looked at again when a micro-batch has left the one before.
# file: core/schedule/run.c
# tests: test_schedule
s/^    wake_rank_of(d, a->kind == SL_ACTION_FORWARD ? .*$//
