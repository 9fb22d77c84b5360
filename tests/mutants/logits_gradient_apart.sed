# A model compiled whole has its logits' gradient in a tensor of its own.
# file: core/plan/kernels.c
# tests: test_kernel_rows
s/== SL_OK && preset.family == SL_FAMILY_FSDP2;/== SL_OK \&\& preset.family > 0;/
