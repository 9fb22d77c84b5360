# FSDP2 beside a pipeline reduces a unit as soon as the last backward has its gradients.
# file: core/plan/strategy.c
# tests: test_one_reduction
/s->reduces_last |= /d
