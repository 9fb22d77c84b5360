# The lifetimes of slots of an open run are looked for where the steady part has replaced them.
# file: core/place/periods.c
# tests: test_repeat
s/  sl_chains_end(s);//
