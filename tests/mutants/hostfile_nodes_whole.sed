# A hostfile gives ranks, but nodes keep all of their devices.
# file: cli/setup.c
# tests: test_cli_hostfile
s/sl_cluster_resize_nodes(cluster, options->ranks_per_node);/(void)cluster;/
