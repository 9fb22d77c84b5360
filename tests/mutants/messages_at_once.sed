# A ring's messages pass the network all at once.
# file: cost/collective.c
# tests: test_cost_kernels
s/(work->members - 1) \* link->message/link->message/
