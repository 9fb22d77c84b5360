# A table's gpu in capitals is not known.
# file: table/inputs.c
# tests: test_table
s/strncasecmp(g->kind/strncmp(g->kind/
