# A batch of Megatron-LM's that the ranks do not divide is refused in DeepSpeed's words.
# file: core/config/config.c
# tests: test_config_errors
s/if (config->megatron_batch == NULL ||/if (config->megatron_batch != NULL ||/
