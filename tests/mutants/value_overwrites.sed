# The input's gradient through the values replaces those through queries and keys.
# file: core/models/linear.c
# tests: golden_1
s/i == 0 ? sl_build_write(l, partial) : sl_build_update(l, partial)/sl_build_write(l, partial)/
