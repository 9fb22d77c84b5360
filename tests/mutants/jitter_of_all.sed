# Every rank has the same noise.
# file: sim/jitter.c
# tests: test_sim_jitter
s/(uint64_t)rank->rank)/0)/
