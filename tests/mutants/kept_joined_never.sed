# What is concatenated of a rotated part and the rest lies as what is rotated whole.
# file: core/models/kept.c
# tests: test_kept
s/of_row += q;/of_row += 0;/
