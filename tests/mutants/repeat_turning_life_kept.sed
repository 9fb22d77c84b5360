# Of a slot that turns, the life that copied periods end counts as over where the last derived one left it.
# file: core/place/periods.c
# tests: test_repeat
s/  k->lives->items\[k->last_life\[slot\]\] = t->over\[slot\];//
