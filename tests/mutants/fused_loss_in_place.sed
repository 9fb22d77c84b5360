# A compiled loss of Megatron-LM computes in place, as the eager one does.
# file: core/plan/kernels.c
# tests: test_cli_verdict
s/      24,   10,      10,     0/      24,   10,      6,      0/
