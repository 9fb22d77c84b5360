# Our own kernels have hooks in Python.
# file: core/models/hooks.c
# tests: test_hooks
s/ || l->plan->config->sl.kernels == SL_KERNELS_SHARDLAB//
