# A link gives twice its bandwidth.
# file: core/cluster/cluster.c
# tests: test_cluster_errors
s/#define MOST_SHARE 1.25/#define MOST_SHARE 2/
