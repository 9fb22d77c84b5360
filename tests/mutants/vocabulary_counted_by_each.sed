# A whole embedding is taken for one that is cut: each member of tp counts its gradient in the norm.
# file: core/plan/layout.c
# tests: test_vocabulary grid3d_2
s/plan->tp > 1 \&\& sl_cut_is_whole(plan, t)/plan->tp > 1 \&\& t->tp_dim < 0/
