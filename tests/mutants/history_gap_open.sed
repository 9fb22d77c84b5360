# A span of a slot that has moved beyond the gap is read from before it.
# file: core/place/linker.h
# tests: test_repeat test_lowering
s/i < h->low ? i :/i <= h->low ? i :/
