# What norms add to a variance is not among the arguments that are written, so Megatron-LM's default takes its place.
# file: core/interop/megatron_model_write.c
# tests: interop_property test_megatron_model
s/if (epsilon != NULL) put_real/if (epsilon == NULL) put_real/
