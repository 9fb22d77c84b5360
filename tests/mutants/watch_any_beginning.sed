# The first line, as far as it has been written, may be anything.
# file: analysis/watch.c
# tests: watch_curves
s/if (curve->name\[0\] != '\\0' || strncmp(rest/if (curve->name[0] != '\\0' || length > 0 || strncmp(rest/
