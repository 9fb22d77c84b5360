# The host does not know which LayerNorms multiply by 1 + weight.
# file: backend/host/dispatch.c
# tests: families_nemotron
s/c->dim\[1\], (float)c->op->scale, sl_call_from_one(c));/c->dim[1], (float)c->op->scale, 0);/
