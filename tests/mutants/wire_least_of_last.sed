# The member that has least of a bucket is taken for the last one.
# file: core/op/wire.c
# tests: test_wire
s/all - (first < last ? first : last)/all - last/
