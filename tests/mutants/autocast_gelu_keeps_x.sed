# gelu_new under torch.autocast keeps its input in both types.
# file: core/plan/kernel_rows.h
# tests: test_autocast_casts
s/72,   9,       8,      12,  SL_OP_GELU_BWD/72,   9,       8,      14,  SL_OP_GELU_BWD/
