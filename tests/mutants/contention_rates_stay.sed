# Transfers that are over still take their share of a link.
# file: sim/contention.c
# tests: test_sim_contention
s/  if (c->count > 0) retime(sim);/  forget(c);/
