# What goes to NVMe of a bucket of which some stays on the device is its first part.
# file: core/lower/reduced.c
# tests: test_offload_train
s/sl_build_part(l, b->arrival, SL_READ, b->arrival_at + first, count), passing/sl_build_part(l, b->arrival, SL_READ, b->arrival_at, count), passing/
