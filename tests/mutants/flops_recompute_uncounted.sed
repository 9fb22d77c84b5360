# The profile's rate of a backward leaves out what it computes again.
# file: cli/flops.c
# tests: monitor_own
s/  const double factor = 2 + config->flops_profiler.recompute_fwd_factor;/  const double factor = 2 + 0 * config->flops_profiler.recompute_fwd_factor;/
