# A fast clock with new numbers goes on with the time in which all ranks agreed by the old ones.
# file: fast/fast.c
# tests: test_fast_reprice
/memset(f->agreed, 0, sizeof f->agreed);/d
