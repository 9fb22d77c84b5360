# DeepSpeed's pipeline does not count its ends as layers.
# file: table/inputs.c
# tests: test_table
s/each - (i == 0 || i == r->pp - 1)/each - (i < 2)/
