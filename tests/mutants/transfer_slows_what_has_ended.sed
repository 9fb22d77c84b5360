# An op that ends when a transfer begins is slowed by it, if its event comes later.
# file: sim/lanes.c
# tests: test_sim_flow
s/if (rank->stretch.ops\[0\].end == sim->time) return;/if (rank->stretch.ops[0].end < 0) return;/
