# When a stretch is settled, the op beside its call keeps the end that it had with it.
# file: sim/ahead.c
# tests: test_sim_flow
s/if (moves >= 0) { /if (false) { /
