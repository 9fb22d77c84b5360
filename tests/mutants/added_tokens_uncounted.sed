# Tokens that are added to a vocabulary are not counted.
# file: core/interop/megatron_vocabulary.c
# tests: test_megatron_vocabulary
s/if (content != NULL) json_object_set/if (content == NULL) json_object_set/
