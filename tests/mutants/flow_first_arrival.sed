# A program that runs at once starts a collective when the first of its members has reached it.
# file: sim/flow.c
# tests: test_sim_flow
s/if (ready > m->ready) m->ready = ready;//
