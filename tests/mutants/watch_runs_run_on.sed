# A second run in a file of csv_monitor goes on with the first one's curve.
# file: analysis/watch.c
# tests: watch_curves
/^    curve->count = 0;$/d
