# What DDP's reducer has summed in a bucket is not copied back to the gradients.
# file: core/lower/reduce.c
# tests: test_reducer grid3d_2
s/if (l->plan->strategy.copies_to_buckets) return sl_reducer_copy_back(l, p);/if (l->plan->strategy.copies_to_buckets) return SL_OK;/
