# DeepSpeed's pipelines in bf16 at stage 0 replicate the optimizer's state.
# file: core/plan/strategy.c
# tests: test_one_reduction
s/s->zero_stage == 0 \&\& (engine || /s->zero_stage == 0 \&\& ((engine \&\& dp < 1) || /
