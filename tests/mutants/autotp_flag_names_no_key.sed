# With --tp a message about AutoTP's vocabulary names a key that nobody wrote.
# file: cli/setup.c
# tests: test_cli
s/  sl_json_set_by(doc, path, name);/  (void)name;/
