# The sums of the parts of query heads have room for a rank's tokens, not for all keys.
# file: core/op/workspace.c
# tests: test_scratch
s/rows = sl_product(dim\[0\], keys(dim));/rows = sl_product(dim[0], dim[1]);/
