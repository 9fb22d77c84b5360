# Gate and up stay apart in frameworks that have one product for both.
# file: core/plan/packing.c
# tests: test_packing
s/== SL_PACKS_ALL;$/== SL_PACKS_ALL \&\& f->rms == false;/
