# Our own attention counts as computed in tf32.
# file: core/models/attention.c
# tests: test_kernel_set_attention
s/  if (!flash(g) \&\& config->sl.kernels != SL_KERNELS_SHARDLAB \&\& /  if (!flash(g) \&\& /
