# Kernels of frameworks draw the masks of dropout again.
# file: core/config/parallel.c
# tests: test_config_parallel
s/c->sl.store_dropout_masks = c->sl.kernels != SL_KERNELS_SHARDLAB;/c->sl.store_dropout_masks = false;/
