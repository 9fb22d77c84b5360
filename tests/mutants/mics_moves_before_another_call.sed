# MiCS's parts stay where they arrived until another call needs the room, and are summed over replicas before.
# file: core/lower/reduced.c
# tests: test_hybrid_traffic
s/  return l->plan->strategy.offload_optimizer || l->plan->strategy.replica_sums == SL_REPLICAS_KEPT;/  return l->plan->strategy.offload_optimizer;/
