# Without sequence parallelism the gradient of a column-parallel layer's input is not summed.
# file: core/models/regions.c
# tests: grid3d_2 grid3d_4
s/if (g->tp == 1) return SL_OK;/if (g->tp == 1 || (g->s == g->r \&\& g->phase == SL_PHASE_BACKWARD)) return SL_OK;/
