# The tied embedding's bucket leaves after the head's share, before the embedding's.
# file: core/lower/reduce.c
# tests: grid3d_2 golden_2
s/if (++r->seen\[c->placed\] < expected(l, c->placed) ||/if (++r->seen[c->placed] > 1 || expected(l, c->placed) < 0 ||/
