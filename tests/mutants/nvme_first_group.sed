# Every sub-group is the first of its run.
# file: core/lower/update.c
# tests: test_offload_train
s/  run.first += first;/  run.first += 0 * first;/
