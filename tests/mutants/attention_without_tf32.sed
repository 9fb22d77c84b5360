# Attention's products of a framework are in fp32 where all others are in tf32.
# file: core/models/attention.c
# tests: test_kernel_set_attention
s/    op.dtype = SL_TF32;/    op.dtype = op.dtype;/
