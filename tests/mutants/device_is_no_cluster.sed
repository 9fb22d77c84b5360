# A device's name is no cluster.
# file: core/cluster/cluster.c
# tests: test_cluster
s/known && sl_cluster_presets\[i\]/false \&\& sl_cluster_presets[i]/
