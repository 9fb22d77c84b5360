# A stage without layers hands nothing on.
# file: core/models/boundary.c
# tests: test_stages
s/return g->stage->layer_count == 0 ? sl_transformer_copy.*;/return SL_OK;/
