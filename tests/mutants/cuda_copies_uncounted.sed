# Copies between memories are not counted as traffic.
# file: backend/cuda/exec.c
# tests: test_cuda_offload
s/!sl_traffic_counts(op)) return SL_OK;/!sl_op_is_comm(op->kind)) return SL_OK;/
