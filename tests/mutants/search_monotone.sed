# The largest micro-batch is looked for as if what an allocator reserves grew with it.
# file: cli/search.c
# tests: test_cli_verdict
s/  s->bare = true;/  s->bare = false;/
