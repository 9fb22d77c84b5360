# A member of a ring sends its own piece of a bucket too.
# file: core/op/wire.c
# tests: test_wire
s/ - sl_share_piece(op, slices, part, skipped).count;/ - 0 * skipped;/
