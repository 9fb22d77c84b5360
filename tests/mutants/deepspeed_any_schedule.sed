# Presets of DeepSpeed take every schedule.
# file: core/plan/refusals.c
# tests: test_strategy
s/return not_1f1b(q) && strcmp(q->config->sl.schedule, "zb-h1") != 0;/return not_1f1b(q) \&\& q->config->sl.pp < 0;/
