# --enable-zbh1-pipeline goes without --deepspeed, whose engine it changes.
# file: core/interop/megatron.c
# tests: test_megatron_forks
/expected none without/b
s/if (is_given && !sl_arguments_has(a, "deepspeed")) return/if (is_given \&\& !sl_arguments_has(a, "deepspeed") \&\& pp < 0) return/
