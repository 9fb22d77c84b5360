# torchtitan is read as if its launcher left torch's allocator as it is.
# file: core/interop/torchtitan.c
# tests: interop_property
/put(t, "shardlab.expandable_segments"/d
