# Megatron-LM's loss keeps 16-bit logits beside their fp32 copy and the gradient.
# file: core/plan/kernel_rows.h
# tests: test_cli_megatron_peaks
s/      48,   23,      4,      0/      48,   23,      6,      0/
