# The memory of a prediction is the arena alone.
# file: table/predict.c
# tests: test_table test_predict_table
s/ + run->reports\[i\].context_bytes//
