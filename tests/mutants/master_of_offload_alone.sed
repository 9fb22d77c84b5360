# fp32 parameters have a master only where states are offloaded.
# file: core/plan/strategy.c
# tests: test_state_bytes
s/(s->offload_optimizer || config->sl.kernels != SL_KERNELS_SHARDLAB)/s->offload_optimizer/
