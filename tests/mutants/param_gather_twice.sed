# A bucket that was gathered one ahead is gathered again by the op that reads it.
# file: core/lower/ahead.c
# tests: test_param_gather
s/  if (at->sent) return SL_OK;//
