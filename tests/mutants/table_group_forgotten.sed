# A row's groups of sharding ranks are all ranks.
# file: table/inputs.c
# tests: test_table_frameworks
s/return r->shard_size != SL_TABLE_UNKNOWN \&\& /return false \&\& /
