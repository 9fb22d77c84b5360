# DeepSpeed's ZeRO-2 has no buckets on a single rank.
# file: core/plan/strategy.c
# tests: test_whole_sums
s/  if (s->adds_parts_later) return SL_OK;//
