# A ring of one member a node passes messages as one of several does.
# file: cost/collective.c
# tests: test_cost_kernels
s/work->members > link->nodes/work->members > 0/
