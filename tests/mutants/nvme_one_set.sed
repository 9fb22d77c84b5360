# Sub-groups that are read ahead share one set of buffers.
# file: core/lower/update.c
# tests: test_offload_train
s/piece_of(run, group, i + 1), (int)((i + 1) % sets), false)/piece_of(run, group, i + 1), 0, false)/
