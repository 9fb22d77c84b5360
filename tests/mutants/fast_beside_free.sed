# Kernels beside a reduction run at full speed.
# file: fast/reduce.c
# tests: test_fast
s/  if (w->slow == 0 || busy <= 0) return;/  if (w->slow >= 0 || busy <= 0) return;/
