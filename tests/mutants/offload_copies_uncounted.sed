# Copies to the device are not counted as traffic.
# file: core/op/wire.c
# tests: test_traffic test_offload_train
s/return op->lane == SL_LANE_H2D || op->lane == SL_LANE_D2H;/return op->lane == SL_LANE_D2H;/
