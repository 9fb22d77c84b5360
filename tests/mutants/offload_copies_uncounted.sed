# Copies to the device are not counted as traffic.
# file: core/op/op.h
# tests: test_traffic test_offload_train
s/  return lane == SL_LANE_H2D || lane == SL_LANE_D2H ||/  return lane == SL_LANE_D2H ||/
