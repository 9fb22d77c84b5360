# DeepSpeed's pipelines in bf16 at stage 0 replicate the optimizer's state.
# file: core/plan/strategy.c
# tests: test_one_reduction
s/  return s->zero_stage == 0 \&\& (preset->family \& SL_FAMILY_PIPELINE_ENGINE)/  return s->zero_stage < 0 \&\& (preset->family \& SL_FAMILY_PIPELINE_ENGINE)/
