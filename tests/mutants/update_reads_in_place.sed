# DeepSpeed's update reads the gradients where they are.
# file: core/plan/strategy.c
# tests: test_state_bytes
s/return s->units == SL_UNITS_FLAT ? SL_COPIES_FLAT : SL_COPIES_NONE;/return SL_COPIES_NONE;/
