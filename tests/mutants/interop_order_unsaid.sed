# The order of ranks is not among the arguments that are written.
# file: core/interop/megatron_write.c
# tests: interop_property
s/if (strcmp(order, "tp-pp-dp") == 0) fputs/if (strcmp(order, "") == 0) fputs/
