# A slow host finds no more free than one that is far ahead.
# file: core/place/replay.c
# tests: test_replay
s/  r->pace = pace;/  r->pace = 0 * pace;/
