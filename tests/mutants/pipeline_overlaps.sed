# DeepSpeed's pipelines follow overlap_comm.
# file: core/plan/strategy.c
# tests: test_one_reduction
s/(staged \&\& (engine || !s->overlap)/(staged \&\& (!s->overlap)/
