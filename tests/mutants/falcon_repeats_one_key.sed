# A single key of all heads is repeated for each by Falcon.
# file: core/models/kept.c
# tests: test_kept
s/ \&\& !(copied \&\& flash \&\& model->n_kv_head == 1);/;/
