# What is known when a lifetime of a copied period begins is what was known when the one before it did.
# file: core/place/turning.c
# tests: test_repeat
s/out.known\[lane\] += times \* t->step.lane_ops\[lane\]/(void)lane/
