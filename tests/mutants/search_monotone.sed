# The largest micro-batch is looked for as if what an allocator reserves grew with it.
# file: cli/search.c
# tests: test_cli_search
s/  s->bare = true;/  s->bare = false;/
