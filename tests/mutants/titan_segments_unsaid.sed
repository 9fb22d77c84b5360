# A memory allocator that torchtitan's script sets otherwise is not told of.
# file: core/interop/torchtitan_write.c
# tests: test_cli
/else if (!sl_interop_is_on(config, "shardlab.expandable_segments"))/,+1d
