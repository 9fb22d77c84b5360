# A communication that is told by its stored issue counts as compute.
# file: core/run/timeline.c
# tests: test_sim_flow test_timeline
s/if (ops\[s->issues\[0\].op\].lane == SL_LANE_COMPUTE)/if (s->count > 0)/
