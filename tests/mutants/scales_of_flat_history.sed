# A history of another length is read as if its rows were as long as the run's.
# file: core/checkpoint/restore.c
# tests: test_scales
s/r \* from->shape\[1\], known/r * row < from->numel - known ? r * row : 0, known/
