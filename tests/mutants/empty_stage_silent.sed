# A stage without layers hands nothing on.
# file: core/models/boundary.c
# tests: test_stages
s/return g->stage->layer_count == 0 ? SL_BUILD_DRAFT(g->drafts, copy, g->x, out) : SL_OK;/(void)copy; return SL_OK;/
