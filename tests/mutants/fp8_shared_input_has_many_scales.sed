# Products that share an input have scales of their own in the backward.
# file: core/models/own_casts.c
# tests: test_own_casts
s/w->scaled_by\[f->placed\] = out->placed;/w->scaled_by[f->placed] = f->placed;/
