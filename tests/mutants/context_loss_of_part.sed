# The loss of a context-parallel rank is the mean over its own tokens, not its share of the mean over all.
# file: core/models/ends.c
# tests: grid3d_4
s/(double)l->plan->global_batch \* (double)l->plan->seq/(double)l->plan->global_batch * (double)g->t/
