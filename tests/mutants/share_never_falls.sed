# A ring over many nodes attains what one over two does.
# file: cost/topology.c
# tests: test_sim_rings
s/units > 2 \&\& link/units > 200 \&\& link/
