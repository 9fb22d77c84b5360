# Megatron-LM on a Hopper GPU has the kernels of 2022.
# file: table/frameworks.c
# tests: test_table_frameworks
s/return by_name || cluster->device.compute_capability >= 9;/return by_name || cluster->device.compute_capability >= 99;/
