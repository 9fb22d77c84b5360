# The fast clock forgets that blocks add gradients to what their activations leave.
# file: fast/reduce.c
# tests: test_fast
s/if (!w.other \&\& s->strategy.gradients_by_tensor) w.made = /if (false) w.made = /
