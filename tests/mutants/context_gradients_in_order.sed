# The gradients of keys and values go back in the order of the sequence, not in that of the members.
# file: core/models/context.c
# tests: grid3d_4
s/  order.flags = SL_OP_INVERSE;/  order.flags = 0;/
