# FSDP's part of whole gradients stays where it is among them.
# file: core/plan/strategy.c
# tests: test_one_reduction
s/s->reduces_apart = fsdp && /s->reduces_apart = false \&\& /
