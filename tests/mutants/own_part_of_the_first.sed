# Of an all-reduced bucket every rank takes the first one's part.
# file: backend/common/call.c
# tests: grid3d_3 grid3d_4
s/sl_op_slices(c->it->program, c->op), 0, (int)c->place)/sl_op_slices(c->it->program, c->op), 0, 0 * (int)c->place)/
