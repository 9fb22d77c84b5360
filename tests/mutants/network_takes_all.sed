# Compute loses as much beside a message over one network card as beside a ring inside the node.
# file: cost/collective.c
# tests: test_cost_kernels test_sim_host
s/const bool narrow = link->hop != SL_HOP_PLAIN \&\&/const bool narrow = link->hop == SL_HOP_PLAIN \&\&/
