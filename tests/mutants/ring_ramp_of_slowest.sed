# A ring has the ramp of its slowest link, though another takes longer to start.
# file: cost/topology.c
# tests: test_sim_rings
s/if (link->half_bytes \/ bandwidth > ramp) ramp/if (ring.bandwidth == bandwidth) ramp/
