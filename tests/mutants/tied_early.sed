# The tied embedding's bucket leaves after the head's share, before the embedding's.
# file: core/lower/reduce.c
# tests: grid3d_2 golden_2
s/if (++r->seen\[o->placed\] < expected(l, o->placed) ||/if (++r->seen[o->placed] > 1 || expected(l, o->placed) < 0 ||/
