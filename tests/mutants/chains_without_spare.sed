# Open runs are copied to their end, where slots have only begun to live, and have to be derived once more.
# file: core/place/chains.c
# tests: test_repeat
s/return c->s->whole ? 0 : widest + 1;/return c->s->whole ? 0 : 1;/
