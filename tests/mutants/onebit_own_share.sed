# A rank's momentum takes its share of the mean gradient, not its own mean.
# file: core/lower/onebit.c
# tests: onebit_3
s|op.scale = (double)s.members;|op.scale = 1;|
