# Weights that are asked for a second time, for their master, are looked for among those of the first.
# file: core/checkpoint/held.c
# tests: test_read_ahead
s/  return held->again;/  return false;/
