# What is empty yet has no name.
# file: analysis/watch.c
# tests: watch_curves
s/curve->name\[0\] != '\\0' ? curve->name : sl/curve->name[0] != '\\0' || path != NULL ? curve->name : sl/
