# The host calls a collective in no time.
# file: sim/lanes.c
# tests: test_sim_host
s/launched(sim, rank, call->host)/launched(sim, rank, 0)/
