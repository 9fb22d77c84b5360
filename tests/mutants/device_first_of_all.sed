# A cluster that names a device gets the first of all.
# file: core/cluster/cluster.c
# tests: test_cluster
s/if (strcmp(sl_device_presets\[i\].name, name) != 0) continue;/if (name[0] == 0) continue;/
