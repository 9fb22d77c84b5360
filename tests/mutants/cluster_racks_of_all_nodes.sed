# A rack has as many devices where half of each node is used.
# file: core/cluster/cluster.c
# tests: test_cluster
s/(\*span == old || devices < old)/*span == old/
