# A host that the device waits for is taken to be as far ahead as any.
# file: sim/sim.c
# tests: test_sim_host
s/fmin(fmax(gained, 0), 1)/(gained < -9 ? 0 : 1)/
