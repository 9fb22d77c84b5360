# The norm counts a tied embedding on both its pipeline ranks.
# file: core/lower/grad_norm.c
# tests: grid3d_2 grid3d_4
s/(t->tied ? 2 : 1);/(t->tied ? 1 : 1);/
