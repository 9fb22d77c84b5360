# Gradients that are reduced at once are reduced in buckets as they are made.
# file: core/plan/strategy.c
# tests: test_one_reduction
s/s->first_bucket = s->bucket = SL_MAX_ELEMENTS;/s->first_bucket = s->bucket = 1000;/
