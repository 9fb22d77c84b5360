# A quotation mark in a cell that is written ends the cell.
# file: core/base/csv.c
# tests: test_csv
s/fprintf(out, \*text == '"' ? "\\"\\"" : "%c", \*text)/fputc(*text, out)/
