# Of the backward of SwiGLU in Python one factor's gradient is live at a time.
# file: core/plan/kernel_rows.h
# tests: test_kept
s/16,   2,       12,     0,/16,   2,       8,      0,/
