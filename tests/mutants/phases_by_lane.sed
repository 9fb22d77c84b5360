# Of a backward only its compute lane is timed.
# file: core/run/phases.c
# tests: test_watched_ops
s/span->end_s = fmax(span->end_s, done->end_s);/if (program->ops[issue->op].lane == SL_LANE_COMPUTE) span->end_s = fmax(span->end_s, done->end_s);/
