# torch's own place for all parts of a gather into lists takes no memory.
# file: core/lower/lists.c
# tests: test_one_reduction
s/&whole, part \* members/\&whole, part/
