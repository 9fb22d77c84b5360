# The gradient of ReLU overwrites the incoming one.
# file: core/plan/kernel_rows.h
# tests: test_kept
s/0,    0,       8,      0,   NOTHING, SL_IF_RELU,/0,    0,       4,      0,   NOTHING, SL_IF_RELU,/
