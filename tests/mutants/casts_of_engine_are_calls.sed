# Each of Transformer Engine's casts is a call of its own.
# file: core/models/casts.c
# tests: test_torch_blocks
s/casts_of(l) == SL_CASTS_TORCHAO ? 0 : launches;/casts_of(l) == SL_CASTS_TORCHAO ? launches : 0;/
