# Without a pipeline, nanotron's script is played for any schedule.
# file: core/plan/allocations.c
# tests: test_replay
s/const bool in_order = strcmp/const bool in_order = plan->pp == 1 || strcmp/
