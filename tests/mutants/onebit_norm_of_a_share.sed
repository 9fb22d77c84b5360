# The norm of a compressed step is that of the shares that kernels make.
# file: core/lower/grad_norm.c
# tests: onebit_3
s|  if (l->zero->compressed) op.scale = (double)s.group->ranks / s.times;||
