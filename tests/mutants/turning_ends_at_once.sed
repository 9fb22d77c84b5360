# A lifetime that is in progress when copying begins ends with the first thing that happens in it.
# file: core/place/turning.c
# tests: test_repeat
s/  return sl_added_begins(s, piece) ? NULL : piece;/  return sl_added_begins(s, piece) || *after > 0 ? NULL : piece;/
