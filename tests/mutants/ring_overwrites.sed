# A reduction that should add to the shard overwrites it.
# file: backend/host/collect.c
# tests: equivalence_2 golden_2
s/\.accumulate = adds}/.accumulate = adds \&\& false}/
