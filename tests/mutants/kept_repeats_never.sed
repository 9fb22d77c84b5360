# Keys and values are never repeated.
# file: core/models/kept.c
# tests: test_kept
s/q > kv \&\& (masked .. (eager \&\& !flash) .. compiled)/q > kv \&\& compiled/
