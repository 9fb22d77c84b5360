# The fast clock does not see the block above the lowest.
# file: fast/live.c
# tests: test_fast
/raise(&peak\[SL_FAST_LOWER\]/d
