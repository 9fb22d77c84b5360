# Megatron-DeepSpeed without a pipeline is refused sequence parallelism, which its model has.
# file: core/plan/refusals.c
# tests: test_strategy
s/q->config->sl.sequence_parallel && q->config->sl.kernels != SL_KERNELS_MEGATRON_DEEPSPEED/q->config->sl.sequence_parallel/
