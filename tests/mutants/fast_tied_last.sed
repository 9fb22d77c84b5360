# A tied embedding waits for all reductions of its stage.
# file: fast/stage.c
# tests: test_fast
s/out->tied_tail\[only\] = .*;/out->tied_tail[only] = out->tail[only];/
