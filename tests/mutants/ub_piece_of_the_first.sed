# Every piece of a gather is that of the first members.
# file: core/models/regions.c
# tests: test_tp_overlap
s/whole.dim\[1\] = i \* whole.dim\[0\], whole.dim\[2\] = (i + 1) \* whole.dim\[0\]/whole.dim[1] = 0 * i, whole.dim[2] = whole.dim[0]/
