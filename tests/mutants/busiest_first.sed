# The busiest member of a bucket's reduction is taken to own none of it.
# file: core/op/wire.c
# tests: test_work test_wire
s/return all - (first < last ? first : last);/return all;/
