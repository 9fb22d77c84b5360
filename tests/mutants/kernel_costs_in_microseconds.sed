# Microseconds of a kernel set are taken for seconds.
# file: core/cluster/kernel_costs.c
# tests: test_kernel_costs
s/AT(host_launch), 1e-6/AT(host_launch), 1/
