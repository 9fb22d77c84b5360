# No piece of a product is a call of its own.
# file: core/models/regions.c
# tests: test_tp_overlap
s/part.in_call = i > 0 /part.in_call = i >= 0 /
