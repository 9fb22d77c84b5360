# Whole gradients stand from the first op of the backward on.
# file: core/plan/strategy.c
# tests: test_pieces
s/s->gradients_by_tensor = .*$/s->gradients_by_tensor = false;/
