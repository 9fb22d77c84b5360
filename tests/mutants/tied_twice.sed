# The head's share of the tied embedding's gradient is added twice.
# file: core/models/linear.c
# tests: golden_1
s/  if (!in_order) SL_TRY(column_weights_bwd(t, n, x));/&\n  if (n->kind == HEAD) SL_TRY(column_weights_bwd(t, n, x));/
