# The input's gradient through the values replaces those through queries and keys.
# file: core/lower_llama.c
# tests: golden_1
/d\.v, k->norm_1/ s/sl_update(l, dnorm)/sl_write(l, dnorm)/
