# Every kernel set pads the rows of unaligned products.
# file: cost/compute.c
# tests: test_cost_kernels
s/const bool padding = rank->kernel_costs.pads_unaligned_products \&\&/const bool padding = rank->kernel_costs.pads_unaligned_products >= 0 \&\&/
