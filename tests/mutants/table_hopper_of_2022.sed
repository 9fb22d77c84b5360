# Megatron-LM on a Hopper GPU has the kernels of 2022.
# file: table/frameworks.c
# tests: test_table_frameworks
s/capability >= 9 || capability == 0;/capability >= 99 || capability == 0;/
