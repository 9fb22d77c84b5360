# Each member begins a group's calls with its own piece.
# file: backend/cuda/comm/collect.c
# tests: test_cuda_backend
s/sl_share_piece(t->op, sl_op_slices(t->it->program, t->op), part, g);/sl_share_piece(t->op, sl_op_slices(t->it->program, t->op), part, (g + t->comm->index) % t->comm->size);/
