# An attention that Transformer Engine would not choose is lost without an error.
# file: core/interop/accelerate_write.c
# tests: test_written interop_property
s/if (w->kind == MEGATRON \&\& strcmp(path, "shardlab.attention") == 0) return true;/if (w->kind == NO_KIND \&\& strcmp(path, "shardlab.attention") == 0) return true;/
