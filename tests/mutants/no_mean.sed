# The gradient is summed over the ranks, not averaged: 1/dp is missing.
# file: core/models/ends.c
# tests: grid3d_2 golden_2
s/(double)l->plan->global_batch \* (double)l->plan->seq/(double)(l->plan->global_batch \/ l->plan->dp) * (double)l->plan->seq/
