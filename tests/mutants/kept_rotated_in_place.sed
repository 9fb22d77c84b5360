# q and k of packed rows are rotated in place, so nothing else of the product is kept.
# file: core/models/kept.c
# tests: test_kept
s/rotates \&\& in->k == 0 ? q + kv : 0/rotates \&\& in->k == 0 ? 0 : 0/
