# What stands behind the cut of a state in two memories gets the gradients of what stands before it.
# file: core/lower/reduced.c
# tests: test_offload_train
s/b->arrival_at + done, piece/b->arrival_at, piece/
