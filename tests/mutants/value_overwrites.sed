# The input's gradient through the values replaces those through queries and keys.
# file: core/models/linear.c
# tests: golden_1
s/i == first ? \*partial : sl_build_as(\*partial, SL_READ_WRITE)/sl_build_as(*partial, SL_WRITE)/
