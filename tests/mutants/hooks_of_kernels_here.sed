# Our own kernels have the hooks of ZeRO-3 in Python.
# file: core/models/hooks.c
# tests: test_hooks
s/ \&\& l->plan->config->sl.kernels != SL_KERNELS_SHARDLAB//
