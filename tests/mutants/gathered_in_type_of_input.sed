# What is kept of a gathered input is of the type of the section that the input comes from.
# file: core/models/linear.c
# tests: test_torch_blocks
s/gathered(t, t->values\[out\[0\]\].layer)/gathered(t, t->values[x].layer)/
