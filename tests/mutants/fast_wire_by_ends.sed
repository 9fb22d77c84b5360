# Copies for the wire are seen at the ends of a stage alone.
# file: fast/reduce.c
# tests: test_fast
s/if (w->travels \&\& w->recast \&\& !w->last) w->live = .*/(void)left, (void)copies;/
