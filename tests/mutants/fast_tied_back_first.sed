# A tied embedding's gradient is copied back as soon as it has been reduced.
# file: fast/stage.c
# tests: test_fast
s/r.after > 0 ? out->tail\[only\] : r.tied_over/r.tied_over/
