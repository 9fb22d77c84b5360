# A weight of q, k and v is cut as if its three parts were as long.
# file: core/plan/cut.c
# tests: test_cut test_checkpoint families_phi3
s/^  return t->tp_lead > 1 ? t->tp_lead : 1;/  return t->tp_lead > 4096 ? t->tp_lead : 1;/
