# A block's tensors in a list are those of this project, not of the framework.
# file: core/lower/lists.c
# tests: test_one_reduction
s/else if (layer != last)/else if (layer != last || in_block)/
