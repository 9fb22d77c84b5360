# A row of a GPU that nothing is known of has no interval.
# file: table/predict.c
# tests: test_table
s/if (!(error > 0)) error = SL_STEP_ERROR_UNKNOWN;/if (!(error > 0)) return;/
