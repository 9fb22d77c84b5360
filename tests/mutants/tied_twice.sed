# The head's share of the tied embedding's gradient is added twice.
# file: core/models/ends.c
# tests: golden_1
/sl_read(l, g->logits), in, sl_grad(l, g->head),/,/NULL));/ {
  /NULL));/a\
  SL_TRY(sl_lower_gemm(l, g->drafts, op, (int64_t[]){g->v, g->c, g->r}, sl_read(l, g->logits), in, sl_grad(l, g->head), NULL));
}
