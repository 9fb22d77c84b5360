# ZeRO++'s second copy is kept on a lane that nothing waits for.
# file: core/lower/gather.c
# tests: test_hybrid_traffic
s/g->live\[unit\], SL_LANE_COMPUTE)/g->live[unit], SL_LANE_SECONDARY)/
