# A host that the device waits for is taken to be as far ahead as any.
# file: sim/sim.c
# tests: test_sim_host
s/rank->late > 0.7 \* rank->launching/rank->late > 2 * rank->launching/
