# Two nodes stall a host as one does.
# file: cost/collective.c
# tests: test_cost_kernels
s/(stalled_nodes + 2) \/ 3.0/1/
