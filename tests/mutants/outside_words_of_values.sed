# A value that nobody needs is named as a word without an argument.
# file: core/interop/megatron_outside.c
# tests: test_megatron_names
s/    } else if (takes > 0) {/    } else if (takes > 9) {/
