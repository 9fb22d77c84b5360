# A tied embedding's gradient is copied back behind all others of its stage.
# file: fast/stage.c
# tests: test_fast
s/tied_tail\[only\] = r.tied_over - end - r.held/tied_tail[only] = out->tail[only]/
