# The norm counts a tensor that all members of tp hold on each of them.
# file: core/lower/grad_norm.c
# tests: grid3d_2 grid3d_4
s/return (t->replicated ? l->plan->tp : 1) \*/return (t->replicated ? 1 : 1) */
