# Periods are copied only once all slots that change have taken their turns.
# file: core/place/turning.c
# tests: test_repeat
s/  const bool known = all_known(s);/  const bool known = all_known(s) \&\& s->count > s->longest;/
