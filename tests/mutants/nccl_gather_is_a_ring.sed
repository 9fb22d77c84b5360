# All gathers are turned from bus to algorithm bandwidth, also those that are no rings.
# file: cost/nccl/bandwidth.c
# tests: test_nccl
s/if (algo != SL_NCCL_RING \&\& sl_nccl_is_gather_or_scatter(coll)) return 1;//
