# The largest magnitudes of ranks are added.
# file: backend/host/collect.c
# tests: fp8_2
s/op->kind == SL_OP_ALL_REDUCE && op->flags & SL_OP_MOST/false/
