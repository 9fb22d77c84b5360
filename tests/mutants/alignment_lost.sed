# A unit is padded to the members, without DeepSpeed's alignment.
# file: core/plan/plan.c
# tests: test_lowering golden_2
s/round_up(u->numel, alignment \* layout->members)/round_up(u->numel, (alignment > 0) * layout->members)/
