# The second chunk of a context-parallel rank is as far from the middle as the first from the start, not from the end.
# file: core/op/chunks.h
# tests: grid3d_4
s/(2 \* cp - 1 - index) \* n/(cp + index) * n/
