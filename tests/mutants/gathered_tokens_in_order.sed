# What sequence parallelism gathers is in order as it comes, where DTensor concatenates it.
# file: core/models/regions.c
# tests: test_torch_blocks
s/copies = rearranges(g) && pieces == 1/copies = false/
