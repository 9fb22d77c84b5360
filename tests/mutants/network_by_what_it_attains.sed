# What compute loses beside a ring follows from what the ring attains, not from the links that it fills.
# file: cost/topology.c
# tests: test_cost_kernels
/ring.nominal = inside \* link->bandwidth;/d
