# Scaling packs q, k and v whatever the number of key heads.
# file: core/plan/packing.c
# tests: test_packing
s/m->n_kv_head == m->n_head : /true : /
