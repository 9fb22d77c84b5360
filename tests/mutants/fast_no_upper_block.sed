# The fast clock does not see the block under the topmost.
# file: fast/live.c
# tests: test_fast
s/most_live(c, under, below, base)/0 * most_live(c, under, below, base)/
