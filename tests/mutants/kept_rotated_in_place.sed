# q and k of packed rows are rotated in place, so nothing else of the product is kept.
# file: core/models/kept.c
# tests: test_kept
s|rotates \&\& packed ? q + kv : 0|rotates \&\& packed ? 0 : 0|
