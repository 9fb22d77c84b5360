# Ranks without a stage have no part in the warm-up of nanotron's pipelines.
# file: core/plan/allocations.c
# tests: test_replay
s/counts_idle_ranks = true/counts_idle_ranks = false/
