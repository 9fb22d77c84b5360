# A host that the device waits for is taken to be as far ahead as any.
# file: sim/sim.c
# tests: test_sim_host
s/fmin(rank->launching \/ step_s, 1)/fmin(0 * rank->launching \/ step_s, 1)/
