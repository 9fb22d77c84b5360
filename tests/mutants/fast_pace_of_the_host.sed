# What a device has left when its host has waited for a message is counted by the host's pace.
# file: fast/schedule.c
# tests: test_fast_odd
s/ ? t->end_hosted \/ t->end : 1;/ ? rate : 1;/
