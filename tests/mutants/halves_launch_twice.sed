# What a framework launches beside a norm's backward is launched beside each of its halves.
# file: core/models/passes.c
# tests: test_backward_halves
/^static int part_of/,/^}/s/return whole - weights;/return whole;/
