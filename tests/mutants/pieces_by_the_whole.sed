# An op that writes a gradient uses all gradients before it.
# file: core/place/lives.c
# tests: test_pieces
s/sl_pieces_find(c, use->buffer, lo); i < end/0; i < end/
