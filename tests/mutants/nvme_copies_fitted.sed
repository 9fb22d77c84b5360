# Copies to and from NVMe are fitted as entries, beside others.
# file: analysis/fit.c
# tests: test_fit_profile
s/    bool known = sl_variant_is_rated(p->variant);/    bool known = false;/
