# Whole gradients leave in the last backward but one.
# file: core/lower/step.c
# tests: grid3d_2 grid3d_4
s/pass.last = w->progress\[local\].passes == n - 1;/pass.last = w->progress[local].passes == (n > 1 ? n - 2 : 0);/
