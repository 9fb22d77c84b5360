# Blocks go to NVMe one by one, whatever the queue.
# file: cost/compute.c
# tests: test_sim_cost test_fit_profile
s/  return fmax(ceil(size \/ block) \* alone \/ depth, latency + size \/ rate);/  return ceil(size \/ block) * alone;/
