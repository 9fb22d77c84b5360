# The second micro-batch overwrites the flat gradient of the first.
# file: core/lower_zero.c
# tests: equivalence_1 golden_1
s/o->slice.access = keep || z->seen/o->slice.access = z->seen/
