# Compute is timed ahead beyond the op that another lane waits for.
# file: sim/ahead.c
# tests: test_sim_flow
s/if (a.done == a.others ||/if (/
