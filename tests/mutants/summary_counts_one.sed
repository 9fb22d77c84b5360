# In a summary every rank stands for itself alone.
# file: core/record/record.c
# tests: test_cli
s/integer_of(rank, "stands_for") + 1/(json_int_t)1/
