# A second parameter group finds its parts by the place among those that share the dense parameters.
# file: core/lower/zero_ops.c
# tests: test_groups
s/o.place_group = group->shard;/o.place_group = SL_GROUP_SHARD;/
