# A process that dies over a row of --table is not replaced.
# file: cli/workers.c
# tests: test_predict_table
s/return start_worker(w, worker);/return SL_OK;/
