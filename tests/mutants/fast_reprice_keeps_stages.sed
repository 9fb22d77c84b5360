# A fast clock with new numbers goes on with stages of the old ones.
# file: fast/fast.c
# tests: test_fast_reprice
/SL_TRY(sl_fast_wholes_price/{n;s/  sl_fast_map_clear(&f->stages, free);//}
