# Stage 0: every rank answers for all squares, so the norm is sqrt(dp) too large.
# file: core/lower_zero.c
# tests: equivalence_2 golden_2
s/op.scale = (double)l->plan->shard \/ l->plan->dp;/op.scale = 1;/
