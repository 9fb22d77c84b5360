# The host launches an op only when the device is free for it.
# file: sim/lanes.c
# tests: test_sim_host
s/return rank->host > sim->time ? rank->host : sim->time;/return rank->host = (rank->host > sim->time ? rank->host : sim->time);/
