# FSDP's replicas are summed once, at the end of the step.
# file: core/plan/strategy.c
# tests: test_hybrid_traffic
s/return SL_REPLICAS_ARRIVED;/return SL_REPLICAS_LAST;/
