# FSDP2 sends whole gradients without a flat copy.
# file: core/lower/gradients.c
# tests: test_one_reduction
s/flattened = s->reduces_apart && s->copies_gathered/flattened = false/
