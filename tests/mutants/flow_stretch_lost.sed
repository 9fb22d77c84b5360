# What the observer has not been told when a program ends, it is not told.
# file: sim/flow.c
# tests: test_sim_flow
s/  for (int i = 0; \*ran \&\& i < sim->count; i++) sl_unreported_report(&f.walkers\[i\].unreported);//
