# MiCS whose groups are of all ranks may not offload.
# file: core/plan/refusals.c
# tests: test_strategy
s/size == 0 || size >= dp) return SL_OK/size == 0) return SL_OK/
