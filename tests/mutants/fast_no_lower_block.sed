# The fast clock does not see the block above the lowest.
# file: fast/live.c
# tests: test_fast
s/most_live(c, above, bottom, base)/0 * most_live(c, above, bottom, base)/
