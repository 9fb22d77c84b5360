# A compiled loss of Megatron-LM computes in place, as the eager one does.
# file: core/plan/kernel_rows.h
# tests: test_cli_megatron_peaks
s/      24,   10,      8,      0/      24,   10,      4,      0/
