# Megatron-LM without --overlap-grad-reduce reduces beside backward all the same.
# file: core/plan/strategy.c
# tests: test_strategy
s/^  preset->row.overlap = false;$//
