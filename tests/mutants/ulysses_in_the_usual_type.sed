# Ulysses reduces gradients in communication_data_type.
# file: core/plan/strategy.c
# tests: test_gradient_types
/if (s->ulysses) c->communication_data_type/d
