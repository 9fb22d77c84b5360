# FSDP's offloaded states have a copy of fp32 parameters beside them, as DeepSpeed's do.
# file: core/plan/strategy.c
# tests: test_offload_train
s/s->master_beside_fp32 = (preset.family \& SL_FAMILY_DEEPSPEED) \&\&/s->master_beside_fp32 = preset.family != 0 \&\&/
