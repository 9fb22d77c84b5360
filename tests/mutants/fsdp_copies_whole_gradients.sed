# FSDP copies whole gradients flat, as FSDP2 does.
# file: core/lower/gradients.c
# tests: test_one_reduction
s/flattened = s->reduces_apart && s->copies_gathered/flattened = s->reduces_apart/
