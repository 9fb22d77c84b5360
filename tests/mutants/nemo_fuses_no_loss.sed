# NeMo's loss is not fused.
# file: table/frameworks.c
# tests: test_table_frameworks
s/return strcmp(row->framework, "nemo") == 0 ||/return/
