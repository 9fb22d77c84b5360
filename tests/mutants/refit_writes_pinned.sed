# A fit of some numbers alone writes all others as fitted ones, too.
# file: refit/write.c
# tests: test_profiles
s/if (sl_refit_is_pinned(&r->priors\[j\]) || !is_told/if (!is_told/
