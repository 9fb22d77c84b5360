# A program that runs at once lets an op start before the one in front of it on its lane is complete.
# file: sim/flow.c
# tests: test_sim_flow
s/if (own->count > 0) \*ready = own->ends/if (own->count > 1) *ready = own->ends/
