# Traffic of both kinds of steps counts in the same rows.
# file: core/run/traffic.c
# tests: test_cli_onebit
s| \&\& t->program == like->program||
