# Where all times are found at once, copies to the device are not counted.
# file: sim/flow.c
# tests: test_sim_offload
s/(lane == SL_LANE_H2D || lane == SL_LANE_D2H)/(lane == SL_LANE_D2H)/
