# Megatron-DeepSpeed's --enable-zbh1-pipeline leaves the schedule as it is.
# file: core/interop/megatron.c
# tests: test_megatron_forks
s/if (is_given && pp > 1) sl_interop_put/if (is_given \&\& pp > 65536) sl_interop_put/
