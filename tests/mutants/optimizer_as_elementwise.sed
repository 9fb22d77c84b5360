# An optimizer's kernels have the factor of element-wise ones.
# file: cost/compute.c
# tests: test_cost_kernels
s/== SL_CLASS_OPTIMIZER ? 1 :/== SL_CLASS_OPTIMIZER ? rank->kernel_costs.elementwise_factor :/
