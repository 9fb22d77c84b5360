# Gradients of the device's sub-groups are moved on the lane of compute.
# file: core/lower/reduced.c
# tests: test_offload
/op.lane = sl_lane_of_group(l->pp_rank->layouts\[b->group\].group.scatter);/d
