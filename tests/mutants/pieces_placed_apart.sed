# The pieces of a buffer find places of their own.
# file: core/place/arena.c
# tests: test_pieces
s/\.fixed = p->buffer_of\[slot\]->piece/.fixed = false/
