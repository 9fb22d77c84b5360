# What had no seconds is asked for again as if it had.
# file: fast/fast.c
# tests: test_fast_choice
s/if (status == SL_OK || b->refused != NULL) f->block_count++;/f->block_count += status != SL_ERR_MEMORY;/; s/if (status == SL_ERR_INPUT \&\& clear) b->refused.*//
