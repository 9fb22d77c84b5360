# DeepSpeed's pipelines reduce a bucket as soon as it is full: each stage waits for those behind it.
# file: core/plan/strategy.c
# tests: test_one_reduction
s/s->reduces_last = scaling || (staged/s->reduces_last = scaling \&\& (staged/
