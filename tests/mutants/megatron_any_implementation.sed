# Any word of --transformer-impl means Transformer Engine.
# file: core/interop/megatron.c
# tests: test_megatron_names
s/if (!\*out && strcmp(implementation, "transformer_engine") != 0)/if (false)/
