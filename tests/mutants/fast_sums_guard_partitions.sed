# Formulas let a sum of a whole bucket delay later gradients as one of a partition does.
# file: fast/reduce.c
# tests: test_fast_odd
s/ || w->s->strategy.sums_whole || !w->communicates/ || !w->communicates/
