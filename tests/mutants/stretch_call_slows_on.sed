# Compute that is timed ahead stays slow when the call beside it has ended.
# file: sim/ahead.c
# tests: test_sim_flow
s/until = INFINITY, lost = a->lost;/until = INFINITY;/
