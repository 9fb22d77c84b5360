# Presets of DeepSpeed refuse the schedule that Megatron-DeepSpeed puts into its engine.
# file: core/plan/refusals.c
# tests: test_strategy
s/{DEEPSPEED, 0, "shardlab.schedule", not_deepspeeds_schedule,/{DEEPSPEED, 0, "shardlab.schedule", not_1f1b,/
