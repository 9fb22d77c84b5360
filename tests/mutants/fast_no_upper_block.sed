# The fast clock does not see the block under the topmost.
# file: fast/live.c
# tests: test_fast
/raise(&peak\[SL_FAST_UPPER\]/d
