# Embeddings are gathered in fp8 with the weights.
# file: core/lower/zero_ops.c
# tests: test_fp8_weights
s/  return weights > u->numel - u->numel \/ 100;/  return weights >= 0;/
