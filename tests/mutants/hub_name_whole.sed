# A model named as on the hub is compared with presets by its whole name.
# file: core/base/nearest.c
# tests: test_model
s/sl_nearest(slash != NULL \&\& slash\[1\] != '\\0' ? slash + 1 : spec, names, n)/sl_nearest(slash == spec ? slash + 1 : spec, names, n)/
