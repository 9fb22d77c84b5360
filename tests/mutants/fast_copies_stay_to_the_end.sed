# All copies for communication stay to the end of the lowest block, in which one of them is the last of its buffer.
# file: fast/reduce.c
# tests: test_fast
s/  out->wire_before = bytes.under;//
