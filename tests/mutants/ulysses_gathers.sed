# DeepSpeed's sequence_parallel_size gathers keys and values.
# file: core/config/parallel.c
# tests: test_config_parallel
s/if (given_integer(config, key, 2, &size) \&\& !says_how) config->sl.cp_comm = SL_CP_A2A;/(void)says_how, (void)size;/
