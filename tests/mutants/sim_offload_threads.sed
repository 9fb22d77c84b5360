# A CPU is predicted to copy and update in host memory beside what it computes.
# file: sim/tables.c
# tests: test_sim_offload
s/sim->one_thread |= /sim->one_thread \&= /
