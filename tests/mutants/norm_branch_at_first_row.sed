# With sequence parallelism the dropout that a norm takes in draws the first member's numbers on all.
# file: backend/host/dispatch.c
# tests: same_bits_2
/^static void add_branch/,/^}/s/c->place \* c->dim\[0\]/0/
