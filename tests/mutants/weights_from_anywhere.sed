# An index may name files outside of its folder.
# file: core/io/weights.c
# tests: test_weights
s/ || strchr(name, .\/.) != NULL//
