# Selective recomputation by op makes k again without turning it by its positions.
# file: core/models/rope.c
# tests: test_same_bits
s/if (x.slice.bytes > 0)/if (x.slice.bytes > 0 \&\& t->g.phase == SL_PHASE_FORWARD)/
