# A key head that all ranks have is packed beside the sharded q.
# file: core/plan/packing.c
# tests: test_packing
s/ || sl_model_shares_key_head(m)) return false/) return false/
