# Gradients of a second parameter group are reduced over the ranks of the dense one.
# file: core/lower/reduce.c
# tests: test_groups
s/layout->group.scatter/l->pp_rank->layouts[0].group.scatter/
