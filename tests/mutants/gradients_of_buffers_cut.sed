# Gradients that are parts of one buffer come one by one, too.
# file: core/plan/strategy.c
# tests: test_pieces
s/s->gradients_by_tensor = .*$/s->gradients_by_tensor = true;/
