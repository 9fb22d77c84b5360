# The cast of a bucket's flat copy is not what is all-reduced, but the copy.
# file: core/lower/take.c
# tests: test_whole_sums
s/return type != l->wire ? copy/return false ? copy/
