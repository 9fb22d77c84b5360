# Stage 3 rounds a parameter's share down.
# file: core/plan.c
# tests: test_lowering golden_2
s/const int64_t part = (t->numel + members - 1) \/ members;/const int64_t part = t->numel \/ members;/
