# The gradients of a member's positions go to the first rows of the table.
# file: kernels/embedding.c
# tests: test_kernels_context
s/sl_position(&shape->at, t)) \* C + c0/t) * C + c0/
