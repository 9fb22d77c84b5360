# A process that dies over a row of --table is not replaced.
# file: cli/predict_table.c
# tests: test_predict_table
s/return start_worker(work, worker);/return SL_OK;/
