# By parameters, too, the heaviest stage alone counts.
# file: core/base/partition.c
# tests: test_stages
s/if (by == SL_PARTITION_BY_SPREAD) return/if (by == SL_PARTITION_BY_SPREAD \&\& a == b) return/
