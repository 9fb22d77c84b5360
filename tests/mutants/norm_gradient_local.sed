# Sequence parallel: gradients of the first layer's norms are of a member's own rows only.
# file: core/plan/layout.c
# tests: grid3d_2 grid3d_4
s/return plan->sequence_parallel;/return plan->sequence_parallel \&\& t->layer != 0;/
