# The gradients of one input are added by the products.
# file: core/models/linear.c
# tests: test_kernel_sets
s/if (i > first) SL_TRY(add_apart/if (i > 2) SL_TRY(add_apart/
