# A model compiled whole has its logits' gradient in a tensor of its own.
# file: core/plan/kernels.c
# tests: test_kernel_rows
s/return strncmp(config->sl.preset, "fsdp2", strlen("fsdp2")) == 0;/return strncmp(config->sl.preset, "fsdp2", strlen("fsdp2")) != 9;/
