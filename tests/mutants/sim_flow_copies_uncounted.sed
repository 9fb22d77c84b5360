# Where all times are found at once, copies to the device are not counted.
# file: sim/flow.c
# tests: test_sim_offload
s/sl_lane_is_link((enum sl_lane)lane)/(lane == SL_LANE_D2H)/
