# A row of --table gets the prediction of the one before.
# file: cli/workers.c
# tests: test_predict_table
s/w->run(w->context, i, sl_workers_result(w, i))/w->run(w->context, i ^ 1, sl_workers_result(w, i))/
