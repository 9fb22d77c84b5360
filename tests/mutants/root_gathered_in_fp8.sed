# Embeddings are gathered in 8 bits, too.
# file: core/lower/flat_gather.c
# tests: test_torch_blocks
s/return unit != 0 && l->plan->strategy.units/return unit >= 0 \&\& l->plan->strategy.units/
