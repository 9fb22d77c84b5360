# One mask serves all layers.
# file: core/models/kept.c
# tests: test_kept
s|(masked ? sl_product(g->b.* : 0);|0;|
