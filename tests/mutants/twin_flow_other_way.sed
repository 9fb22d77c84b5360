# The host updates the first sub-groups and the device the others.
# file: core/lower/home.c
# tests: test_offload
s/  return ratio < 1 ? sl_home_by_ratio(l, 1 - ratio) : 0;/  return ratio < 1 ? sl_home_by_ratio(l, ratio) : 0;/
