# A bucket may begin between a weight and its bias: one buffer for both at once.
# file: core/lower_reduce.c
# tests: golden_2 grid3d_2
s/cut\[i\] = earliest\[i\] > latest;/cut[i] = true;/
