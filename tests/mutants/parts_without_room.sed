# A plan for GPUs leaves no room for the sums of a key head's parts.
# file: core/models/transformer.c
# tests: test_kernel_set_attention
s/return sums > bytes ? sums : bytes;/return sums > bytes ? bytes : bytes;/
