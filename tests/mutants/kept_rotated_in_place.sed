# q and k of packed rows are rotated in place, so nothing else of the product is kept.
# file: core/models/kept.c
# tests: test_kept
s/rotary \&\& packed ? q + kv : 0/rotary \&\& packed ? 0 : 0/
