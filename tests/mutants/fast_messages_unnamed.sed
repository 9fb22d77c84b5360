# Pipelines whose messages slow kernels are not refused.
# file: fast/refuse.c
# tests: test_fast_refuse
s/  if (pp > 1 \&\& costs->comm_compute_share > 0)/  if (pp > 1 \&\& costs->comm_compute_share > 1)/
