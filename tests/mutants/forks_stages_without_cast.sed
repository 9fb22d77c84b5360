# The cast behind the head is no layer of Megatron-DeepSpeed's pipeline.
# file: core/interop/megatron_stages.c
# tests: test_megatron_forks
s/ + (sl_arguments_has(a, "fp16") || sl_arguments_has(a, "bf16"));/;/
