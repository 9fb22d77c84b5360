# The input's gradient through the values replaces those through queries and keys.
# file: core/models/linear.c
# tests: golden_1
s/i == first ? sl_build_write(g->l, buffer) : sl_build_update(g->l, buffer)/sl_build_write(g->l, buffer)/
