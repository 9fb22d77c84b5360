# A gathered parameter lives for a micro-batch, though others come between its forward and its backward.
# file: core/lower/gather.c
# tests: grid3d_3 grid3d_2 grid3d_4
s/\&g->live\[unit\], SL_SCOPE_WRITTEN/\&g->live[unit], SL_SCOPE_MICRO/
