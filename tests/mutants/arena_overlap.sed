# Two lives count as apart when program order parts them, waits or not.
# file: core/place/arena.c
# tests: test_lowering
s/if (a->program == b->program \&\& !(a_first ? over_before(p, a, b) : over_before(p, b, a))) return true;/(void)over_before, (void)a_first;/
