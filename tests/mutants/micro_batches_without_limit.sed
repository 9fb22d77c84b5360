# The micro-batches of a step have no limit before they are counted in int.
# file: core/plan/bounds.c
# tests: test_limits
/gradient_accumulation_steps/d
