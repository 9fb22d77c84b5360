# Every n-th layer is counted from the first of the model, not of the rank.
# file: core/models/recompute.c
# tests: test_recompute_every
s/  if ((layers_before(l, layer) + 1) %/  if (((void)layers_before, layer + 1) %/
