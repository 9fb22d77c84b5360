# A tied embedding waits for all reductions of its stage.
# file: fast/stage.c
# tests: test_fast
s/const bool alone = .*;/const bool alone = false;/
