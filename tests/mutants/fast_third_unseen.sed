# Memory that grows with the depth beyond what a third depth has is believed.
# file: fast/stretch.c
# tests: test_fast_whole
s/if (line.beyond <= 1e-3 \* line.most) /if (line.beyond >= 0) /
