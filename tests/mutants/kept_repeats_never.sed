# Keys and values are never repeated.
# file: core/models/kept.c
# tests: test_kept
s/= (masked || !flash) \&\& q > kv;/= false;/
