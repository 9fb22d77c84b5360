# Periods of an open run are copied although an op waits for what came before they were identical.
# file: core/place/chains.c
# tests: test_repeat_by_hand
s/      if (!history_known(c, s->order\[first + place\], since)) return false;/      (void)since, (void)history_known;/
