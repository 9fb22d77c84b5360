# In fp32 silu(gate) is kept in 16 bits.
# file: core/plan/kernel_rows.h
# tests: test_kept
s/SL_OP_SWIGLU_FWD,       OP,      8,    1,       0,      4,/SL_OP_SWIGLU_FWD,       OP,      8,    1,       0,      2,/
