# A stage without layers hands nothing on.
# file: core/models/ends.c
# tests: test_stages
s/return g->stage->layer_count == 0 \&\& !g->stage->head ? pass_on(g) : SL_OK;/(void)pass_on; return SL_OK;/
