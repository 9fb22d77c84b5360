# q and k of packed rows are rotated in place, so nothing else of the product is kept.
# file: core/models/kept.c
# tests: test_kept
s/in->k == 0 \&\& !copied ? q + kv : 0/in->k == 0 \&\& !copied ? 0 : 0/
