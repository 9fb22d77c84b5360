# A unit is padded to the members, without DeepSpeed's alignment.
# file: core/plan/layout.c
# tests: test_lowering golden_2
s/round_up(u->numel, alignment \* members)/round_up(u->numel, (alignment > 0) * members)/
