# The lifetimes of a buffer that has its place alone are not kept when another gets the same place.
# file: core/place/arena.c
# tests: test_repeat test_arena
s/  if (placed->shared_count == 0 \&\& placed != x) SL_TRY(share(p, placed, placed));//
