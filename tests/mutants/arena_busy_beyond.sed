# A buffer counts as busy with what lies behind it, too.
# file: core/place/arena.c
# tests: test_busy
s/other->offset + other->bytes, other->noted/other->offset + other->bytes + 256, other->noted/
