# The stage that a file which is not read decides is taken without a word.
# file: core/interop/megatron.c
# tests: test_megatron_forks
s/else if (sl_arguments_find(a, "deepspeed-config") != NULL)/else if (stage == 0)/
