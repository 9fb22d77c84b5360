# A reduction that should add to the shard overwrites it.
# file: backend/host/collect.c
# tests: grid3d_2 golden_2
s/\.accumulate = adds}/.accumulate = adds \&\& false}/
