# The memory in a GPU's name is cut to 32 bits.
# file: table/inputs.c
# tests: test_table
s/return size;/return (int)size;/
