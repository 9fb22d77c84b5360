# A communication that is told by its stored issue counts as compute.
# file: core/run/timeline.c
# tests: test_sim_flow test_timeline
s/if (ops\[issues\[0\].op\].lane == SL_LANE_COMPUTE)/if (count > 0)/
