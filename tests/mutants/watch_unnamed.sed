# What is empty yet has no name.
# file: analysis/watch.c
# tests: watch_curves
s/curve->name\[0\] != '\\0' ? curve->name : sl_printable_of(path).text);/curve->name);/
