# Every tp member sends the first part of a scattered message.
# file: core/models/boundary.c
# tests: grid3d_4
s/  whole.slice.shard_stride = whole.slice.bytes;/  whole.slice.shard_stride = 0;/
