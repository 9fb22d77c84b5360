# Rows are sent with what the forward dropped.
# file: core/lower/sparse.c
# tests: test_cli_sparse
s|  \*rows = sl_build_read(l, dropped);||
