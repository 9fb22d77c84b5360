# Steps are told from others whose pipelines have not been full.
# file: fast/whole.c
# tests: test_fast_whole
s/SETTLED = 8/SETTLED = 4/; s/shorter = (stages + 1) \* unit;/shorter = 2 * unit + 0 * stages;/
