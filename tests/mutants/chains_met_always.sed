# Two slots that live at once in copies alone may get the same place.
# file: core/place/chains.c
# tests: test_repeat_by_hand
s/    if (!lives_through(s->k, &s->chained\[i\])) return false;/    (void)lives_through;/
