# A member's own part of a range may be anywhere in its partition.
# file: core/place/lives.c
# tests: test_pieces
s/const bool range = .*$/const bool range = s->shard_stride < 0;/
