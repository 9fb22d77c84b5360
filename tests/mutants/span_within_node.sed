# A link may end in the middle of a node.
# file: core/cluster/cluster.c
# tests: test_cluster_errors
s/node % link->span != 0 \&\& link->span % node != 0/node % link->span != 0 \&\& link->span % node < 0/
