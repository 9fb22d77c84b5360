# Looked-up rows of a whole embedding are summed over tp.
# file: core/models/ends.c
# tests: test_vocabulary grid3d_2
s/return g->tp > 1 \&\& !sl_cut_is_whole(g->l->plan, .*$/return g->tp > 1 \&\& n->weight[0] >= 0;/
