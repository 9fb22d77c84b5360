# Optimizer states that are sharded by bucket are taken by formulas for flat ones.
# file: fast/covers.c
# tests: test_fast_choice
s/ || s->units == SL_UNITS_FLAT;/ || s->units != SL_UNITS_LAYER;/
