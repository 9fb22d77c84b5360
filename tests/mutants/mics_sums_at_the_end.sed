# MiCS sums over replicas at the end of the step.
# file: core/plan/strategy.c
# tests: test_hybrid_traffic
s/? SL_REPLICAS_KEPT : SL_REPLICAS_LAST;/? SL_REPLICAS_LAST : SL_REPLICAS_LAST;/
