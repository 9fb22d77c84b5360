# Selective recomputation leaves flash attention out, whatever a framework does.
# file: core/models/recompute.c
# tests: test_kernel_set_attention
s/ || sl_kernel_set(config->sl.kernels)->repeats_flash//
