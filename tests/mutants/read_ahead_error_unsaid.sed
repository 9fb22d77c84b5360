# A piece read ahead that is damaged counts as read.
# file: core/checkpoint/read_ahead.c
# tests: test_read_ahead
s/    say(ahead, entry, status, status == SL_OK ? values : NULL);/    say(ahead, entry, SL_OK, values);/
