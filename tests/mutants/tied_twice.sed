# The head's share of the tied embedding's gradient is added twice.
# file: core/lower_gpt2.c
# tests: golden_1
/sl_grad(l, g->head), NULL));/a\
  SL_TRY(gemm(&l->backward, op, SL_OP_TRANS_A, g->v, g->c, g->r, sl_read(l, g->logits), sl_read(l, g->ln_f), sl_grad(l, g->head), NULL));
