# A row may name a GPU that its cluster does not have.
# file: table/inputs.c
# tests: test_table
s/if (same) return SL_OK;/if (same || gpu != NULL) return SL_OK;/
