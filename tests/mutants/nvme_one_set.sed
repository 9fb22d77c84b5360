# Sub-groups that are read ahead share one set of buffers.
# file: core/lower/update.c
# tests: test_offload_train
s/next, (i + 1) % sets, false)/next, 0, false)/
