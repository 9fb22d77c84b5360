# The scores of attention are compared with their limit for one head only.
# file: core/plan/bounds.c
# tests: test_limits
s/sl_product(pairs, .*)/pairs/
