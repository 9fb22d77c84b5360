# A ring has the ramp of its slowest link, though another takes longer to start.
# file: cost/topology.c
# tests: test_sim_rings
s/if (ring.bandwidth <= 0 || bandwidth < ring.bandwidth) ring.bandwidth = bandwidth;/if (ring.bandwidth <= 0 || bandwidth < ring.bandwidth) ring.bandwidth = bandwidth, ramp = 0;/
