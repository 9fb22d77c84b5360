# A number that is not given, 0, is out of its range.
# file: core/cluster/numbers.c
# tests: test_cluster_errors
s/\*value == 0 || //
