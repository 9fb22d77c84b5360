# A curve ends without a word where a zero byte stands.
# file: analysis/watch.c
# tests: watch_curves
s/const bool whole = strlen(text) == size;/const bool whole = strlen(text) <= size;/
