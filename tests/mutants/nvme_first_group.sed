# Every sub-group is the first of its run.
# file: core/lower/owned.c
# tests: test_offload_train
s/  piece->first += from - first;/  piece->first += 0 * (from - first);/
