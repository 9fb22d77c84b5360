# A cast stays valid when its numbers are overwritten.
# file: core/models/own_casts.c
# tests: test_own_casts
s/if (writes(d, w->made\[i\].of.buffer)) w->made/if (w->layer < -9 \&\& writes(d, 0)) w->made/
