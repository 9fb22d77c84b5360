# What is known when a lifetime of a copied period begins is what was known when the one before it did.
# file: core/place/added.c
# tests: test_repeat
s/if (out.known\[lane\] > 0) out.known\[lane\] += by;/(void)by;/
