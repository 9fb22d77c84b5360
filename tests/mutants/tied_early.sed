# The tied embedding's bucket leaves after the head's share, before the embedding's.
# file: core/lower_zero.c
# tests: equivalence_2 golden_2
s/if (z->seen\[o->placed\] < z->contributions\[o->placed\]) continue;/(void)0;/
