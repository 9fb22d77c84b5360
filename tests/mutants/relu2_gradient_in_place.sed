# The backward of squared ReLU needs three tensors less.
# file: core/plan/kernel_rows.h
# tests: test_kept
s/28,   3,       16,     0,/28,   3,       4,      0,/
