# What is kept of a gathered input is of the type of the section that the input comes from.
# file: core/models/linear.c
# tests: test_torch_blocks
s/sl_regions_gathered_dtype(g, t->values\[out\[0\]\].layer)/sl_regions_gathered_dtype(g, t->values[x].layer)/
