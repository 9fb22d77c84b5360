# What was made of everybody's rows is reduced once more.
# file: core/lower/reduce.c
# tests: test_cli_sparse
s|  if (sl_sparse_holds(l, placed)) return false;||
