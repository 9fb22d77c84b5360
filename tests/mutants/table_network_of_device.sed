# A row's network is each device's, not the node's.
# file: table/inputs.c
# tests: test_table
s/(double)r->node_gbps \/ (double)cluster->devices_per_node/(double)r->node_gbps/
