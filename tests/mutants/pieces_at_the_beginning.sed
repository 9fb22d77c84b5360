# All pieces of a buffer begin where it does.
# file: core/place/pieces.c
# tests: test_pieces
s/ = at + b\[k\]\.piece_at;/ = at;/
