# The device updates a sub-group more than the ratio leaves it.
# file: core/lower/home.c
# tests: test_offload
s/  for (int i = (int)(ratio \* n); i > 0; i--)/  for (int i = (int)(ratio * n); i >= 0; i--)/
