# The fast clock takes what a kernel set does beside an update for nothing.
# file: fast/stage.c
# tests: test_fast
s/moved_seconds(rank, \&stage->beside, n, share/0 * moved_seconds(rank, \&stage->beside, n, share/
