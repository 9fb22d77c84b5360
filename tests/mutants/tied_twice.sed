# The head's share of the tied embedding's gradient is added twice.
# file: core/models/ends.c
# tests: golden_1
/sl_build_grad(l, g->head), NULL));/a\
  SL_TRY(sl_build_gemm(l, g->drafts, op, (int64_t[]){g->v, g->c, g->r}, sl_build_read(l, g->logits), in, sl_build_grad(l, g->head), NULL));
