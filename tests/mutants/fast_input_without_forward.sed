# Inputs are received beside the last forward of a step, too.
# file: fast/fast.c
# tests: test_fast
s/ most(work, later)) - x->input;/ most(work, later)) - 0 * x->input;/
