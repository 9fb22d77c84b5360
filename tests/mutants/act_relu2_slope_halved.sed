# The derivative of a squared ReLU lacks its 2.
# file: kernels/act.c
# tests: test_kernels_forms
s/return x > 0 ? 2 \* x : 0;/return x > 0 ? x : 0;/
