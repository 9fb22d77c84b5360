# --partition-activations is passed over.
# file: core/interop/megatron.c
# tests: test_megatron_forks
s/"activation_checkpointing.partition_activations", json_true()/"activation_checkpointing.partition_activations", json_false()/
