# What a collective uses is free as soon as the host says so.
# file: core/place/replay.c
# tests: test_replay
s/^  if (!late) return sl_allocator_give/  if (!late || r->lead > 0) return sl_allocator_give/
