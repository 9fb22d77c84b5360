# Every member of a tp group keeps the first part of a block's input.
# file: core/models/saved_input.c
# tests: test_offload_train
s/    x.slice.shard_stride = x.slice.bytes;//
