# A slow host calls collectives as fast as any other.
# file: cost/share.c
# tests: test_sim_cost
/costs.host_collective \*= host;/d
