# Of a head of which a part is turned, all is.
# file: backend/common/call.c
# tests: golden_families
s/\.dim = (size_t)r->dim,/.dim = 0,/
