# The line of column names counts as a row that has a measurement.
# file: analysis/plot.c
# tests: plot_records
s/ \&\& strcol(name) ne name//
