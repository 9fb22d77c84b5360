# tp_comm_overlap cuts what userbuffers gather in bulk.
# file: core/models/regions.c
# tests: test_tp_overlap
s/ \&\& half == SL_HALF_WEIGHT;/ \&\& half == SL_HALF_INPUT \&\& false;/
