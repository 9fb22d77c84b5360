# A message about a key that a flag set names the file.
# file: cli/setup.c
# tests: test_cli
s/    name_flag(doc, keys, name);/    (void)name_flag, (void)name;/
