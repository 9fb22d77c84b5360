# A stage costs the same whatever the number of micro-batches that its host may get ahead of.
# file: fast/fast.c
# tests: test_fast_choice
s/sl_cost_has_host(&f->rank) ? c->n_micro : 0/0/
