# Fused q, k, v are cut as one block: members hold other columns than attention takes them for.
# file: core/plan/cut.c
# tests: grid3d_2 grid3d_4
s/const int64_t blocks = blocks_of(t);/const int64_t blocks = 1;/
