# hpZ: every member of a secondary group keeps the first part of what was gathered.
# file: core/lower/gather.c
# tests: grid3d_2 grid3d_4
s/own.slice.shard_stride = own.slice.bytes;/own.slice.shard_stride = 0;/
