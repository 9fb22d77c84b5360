# Aleph Alpha Scaling's buckets are reduced as the backward fills them.
# file: core/plan/strategy.c
# tests: test_one_reduction
s|s->reduces_last = scaling \|\| (staged|s->reduces_last = (staged|
