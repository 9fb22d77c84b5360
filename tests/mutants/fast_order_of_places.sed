# Gradients are written in the order of their tensors, not of time.
# file: fast/reduce.c
# tests: test_fast
s/^  put_in_order(ops, count);$/  if (count < 0) put_in_order(ops, count);/
