# A W half reads the stream's gradient, on which I has worked on.
# file: core/models/gradients.c
# tests: grid3d_2 grid3d_4
s/if (!t->g.l->stage->split) return SL_OK;/return SL_OK;/
