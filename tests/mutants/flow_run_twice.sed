# Of a long run of compute ops, what was told once is told again under the same numbers.
# file: sim/flow.c
# tests: test_sim_flow
s/first += count, count = 0;/count = 0;/
