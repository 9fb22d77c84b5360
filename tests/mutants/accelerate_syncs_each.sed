# Accelerate's FSDP is read as if sync_each_batch were set.
# file: core/interop/accelerate.c
# tests: test_frames
/put(a, "shardlab.no_sync"/d
