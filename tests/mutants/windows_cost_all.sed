# Attention in a window is priced by all pairs of its sequence.
# file: core/op/flops.c
# tests: test_work
s/return dim\[5\] > 0 \&\& dim\[5\] < dim\[1\] ? w \* (w + 1) \/ 2 + (t - w) \* w : t \* (t + 1) \/ 2;/return t * (t + 1) \/ 2 + 0 * w;/
