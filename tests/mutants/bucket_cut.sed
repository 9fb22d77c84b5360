# A bucket may begin between a weight and its bias: one buffer for both at once.
# file: core/lower/bucket.c
# tests: grid3d_2 golden_2
s/cut\[i\] = earliest\[i\] > latest;/cut[i] = true;/
