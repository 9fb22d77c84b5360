# ZeRO-2 has a second partition of gradients in the first micro-batch, too.
# file: core/lower/reduced.c
# tests: test_whole_sums
s/ \&\& l->zero->reduce->pass.first ? -1 : / \&\& l->plan == NULL ? -1 : /
