# Hosts and pipelines are taken to have settled at once.
# file: fast/whole.c
# tests: test_fast_whole
s/SETTLED = 8/SETTLED = 4/
