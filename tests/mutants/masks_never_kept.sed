# Kernels of frameworks draw the masks of dropout again.
# file: core/config/parallel.c
# tests: test_config_parallel
s/c->sl.store_dropout_masks = frameworks;/c->sl.store_dropout_masks = false;/
