# A link inside a node joins as many devices whatever the node's size, and so some of the next.
# file: core/cluster/cluster.c
# tests: test_cluster
s/\*span = sl_common_divisor(\*span, devices);/*span = *span > 0 ? *span : devices;/
