# A host has launched ops that something came between.
# file: sim/ahead.c
# tests: test_sim_flow
s/  rank->host = s->ops\[blocked ? now - 1 : now\].host;//
