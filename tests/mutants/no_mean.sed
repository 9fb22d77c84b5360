# The gradient is summed over the ranks, not averaged: 1/dp is missing.
# file: core/lower_gpt2.c
# tests: equivalence_2 golden_2
s/(double)plan->global_batch \* (double)g->t/(double)(plan->global_batch \/ plan->dp) * (double)g->t/
