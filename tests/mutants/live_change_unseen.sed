# Memory that changes within what repeats is not looked at.
# file: core/place/live.c
# tests: test_repeat
s/ends->last\[issue - 1\] == 0) issue++/true) issue++/
