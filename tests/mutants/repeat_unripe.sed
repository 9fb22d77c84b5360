# Periods are copied although slots that turn still hold what was written before periods were alike.
# file: core/place/periods.c
# tests: test_repeat
s#if (turns \&\& !ripe(s)) return SL_OK;#(void)ripe;#; s#if (like == NULL) return false;#if (like == NULL) like = newest;#
