# The errors of compute do not reach the bubbles that it makes.
# file: cost/fitted.c
# tests: test_error
s/(step_s - exposed) \/ f->compute/1/
