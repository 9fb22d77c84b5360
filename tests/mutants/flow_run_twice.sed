# Of compute ops that run one behind the other, the last is run once more.
# file: sim/flow.c
# tests: test_sim_flow
s/  w->next += count;/  w->next += count - (count > 1), count -= count > 1;/
