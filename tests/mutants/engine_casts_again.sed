# Transformer Engine's backward casts again what the forward wrote transposed.
# file: core/models/casts.c
# tests: test_torch_blocks
s/^  return factor == INPUT_OF_GRADIENT || factor == WEIGHT_OF_GRADIENT ? 0 : 4;/  return factor == WEIGHT_OF_GRADIENT ? 0 : 4;/
