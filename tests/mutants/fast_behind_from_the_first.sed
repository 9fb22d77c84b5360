# A host that falls behind after some blocks has been behind from the first.
# file: fast/reduce.c
# tests: test_fast
s/return hosted < most ? hosted : most;/return most > INFINITY ? most : hosted;/
