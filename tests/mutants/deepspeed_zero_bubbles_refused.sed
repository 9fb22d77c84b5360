# Presets of DeepSpeed refuse the schedule that Megatron-DeepSpeed puts into its engine.
# file: core/plan/refusals.c
# tests: test_strategy
s/strcmp(q->config->sl.schedule, "zb-h1") != 0/strcmp(q->config->sl.schedule, "none") != 0/
