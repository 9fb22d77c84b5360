# A pipeline's interval of 1 recomputes nothing.
# file: core/config/parallel.c
# tests: test_config_parallel
s/config->sl.recompute\[0\] = SL_RECOMPUTE_FULL;/config->sl.recompute[0] = SL_RECOMPUTE_NONE;/
