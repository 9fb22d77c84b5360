# A bucket that is complete with a block's last gradient counts as one of the block below.
# file: fast/reduce.c
# tests: test_fast
/  make_room(w, &stage->tensor\[end - 1\], w->flat, &bytes);/d
s/  const struct in_use bytes = bytes_in_use(w, stage, &stage->tensor\[end - 1\], b);//
