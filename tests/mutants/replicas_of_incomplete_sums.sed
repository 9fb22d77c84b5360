# Replicas sum an own part in every backward, though earlier ones' sums are in it.
# file: core/lower/reduce.c
# tests: test_hybrid_traffic
s/return !adds || (/return true || !adds || (/
