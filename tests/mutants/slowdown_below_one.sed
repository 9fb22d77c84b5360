# A slowdown below 1 is taken.
# file: core/cluster/cluster.c
# tests: test_cluster_errors
s/{"unaligned_gemm_slowdown", SL_REAL_OR_0, AT(unaligned_gemm_slowdown), 1, 1,/{"unaligned_gemm_slowdown", SL_REAL, AT(unaligned_gemm_slowdown), 1, 0,/
