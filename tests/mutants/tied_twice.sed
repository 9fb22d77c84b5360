# The head's share of the tied embedding's gradient is added twice.
# file: core/lower_transformer.c
# tests: golden_1
/sl_grad(l, g->head), NULL));/a\
  SL_TRY(sl_lower_gemm(l, &l->backward, op, (int64_t[]){g->v, g->c, g->r}, sl_read(l, g->logits), sl_read(l, g->ln_f), sl_grad(l, g->head), NULL));
