# A broken first line turns lines of JSON into plain text, whatever the file's name says.
# file: core/io/data_text.c
# tests: test_cli
s/  if (field != NULL || (length >= behind/  if (length == SIZE_MAX \&\& field != NULL \&\& (length >= behind/
