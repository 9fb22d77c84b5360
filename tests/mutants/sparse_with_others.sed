# The embedding shares a bucket with the tensor behind it.
# file: core/lower/bucket.c
# tests: test_cli_sparse
s|  if (sl_sparse_holds(l, i) != sl_sparse_holds(l, i + 1)) return true;||
