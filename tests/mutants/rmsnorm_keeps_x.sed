# Eager RMSNorm keeps x in both types.
# file: core/plan/kernel_rows.h
# tests: test_kept
/define RMSNORM_IN_PYTHON/,/RMSNORM_OF_FP32/s/4,      4,   SL_OP_RMSNORM_BWD, when, 0, 0, IN_16/4,      6,   SL_OP_RMSNORM_BWD, when, 0, 0, IN_16/
