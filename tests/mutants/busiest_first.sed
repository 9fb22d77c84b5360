# The busiest member of a bucket's reduction is taken to own none of it.
# file: core/op/wire.c
# tests: test_work
s/return all - least;/return all;/
