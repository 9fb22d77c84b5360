# Aleph Alpha Scaling's buckets are reduced as the backward fills them.
# file: core/plan/strategy.c
# tests: test_one_reduction
s/s->fp32_reductions = s->reduces_last = scaling;/s->fp32_reductions = scaling;/
