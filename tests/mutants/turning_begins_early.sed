# A lifetime behind the copied periods begins with the last thing that happens in it.
# file: core/place/turning.c
# tests: test_repeat
s/    if (sl_added_begins(s, piece)) return true;/    return true;/
