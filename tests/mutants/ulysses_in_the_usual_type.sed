# Ulysses reduces gradients in communication_data_type.
# file: core/plan/strategy.c
# tests: test_strategy
/if (s->ulysses) c->communication_data_type/d
