# The correction of trees is that of the next size.
# file: cost/nccl/tables.c
# tests: test_nccl_choice
s/if (bytes >= tree\[i\].bytes) return/if (bytes > tree[i].bytes) return/
