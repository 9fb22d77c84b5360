# ZeRO-2 has a second partition of gradients in the first micro-batch, too.
# file: core/lower/settle.c
# tests: test_whole_sums
s/return sl_gradients_added_later(l) \&\& alike \&\& l->zero->reduce->pass.first ? -1 : /return /
