# Copies out of a packed row are counted beside the op that makes them.
# file: core/plan/kernels.c
# tests: test_packing
s/config->sl.cp <= 1/true/
