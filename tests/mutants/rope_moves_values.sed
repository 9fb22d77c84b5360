# Rotary positions move the values of a packed tensor.
# file: core/op/flops.c
# tests: test_packing
s/(double)(op->dim\[2\] + op->dim\[4\]) \/ (double)(op->dim\[2\] + 2 \* op->dim\[4\])/1.0/
