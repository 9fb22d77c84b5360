# A kernel set whose unaligned batches leave tensor cores is charged as if they did not.
# file: cost/attention.c
# tests: test_cost_kernels
s/if (rank->kernel_costs.unaligned_batches_on_cuda_cores \&\&/if (rank->kernel_costs.unaligned_batches_on_cuda_cores > 1 \&\&/
