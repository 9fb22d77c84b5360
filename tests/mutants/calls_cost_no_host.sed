# The host calls a collective in no time.
# file: sim/lanes.c
# tests: test_sim_host
s/sl_sim_launch(sim, &rank->host, sim->time, call->host)/sl_sim_launch(sim, \&rank->host, sim->time, 0)/
