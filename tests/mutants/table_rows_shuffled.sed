# A row of --table gets the prediction of the one before.
# file: cli/predict_table.c
# tests: test_predict_table
s/struct result \*result = \&board->results\[i\];/struct result *result = \&board->results[i ^ 1];/
