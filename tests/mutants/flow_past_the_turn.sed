# Compute ops go on behind the last op of what is stored once, as if it did not repeat.
# file: sim/flow.c
# tests: test_sim_flow
s/return w->at.stored < w->turn ? w->turn : /return /
