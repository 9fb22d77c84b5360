# Megatron-LM's arguments have a mapping beside context parallelism, which cannot be read again.
# file: core/interop/megatron_write.c
# tests: test_written
s/if (context && strcmp(order, "tp-dp-pp") != 0)/if (context \&\& strcmp(order, "tp") == 0)/
