# Two rows may have one id.
# file: table/rows.c
# tests: test_table
s/if (strcmp(cells\[r\]->text, cells\[r - 1\]->text) != 0) continue;/if (r > 0) continue;/
