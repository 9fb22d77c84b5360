# The host of a stage starts anew with every action.
# file: fast/schedule.c
# tests: test_fast
s/double host = r->host\[stage\], from = host;/double host = 0, from = host;/
