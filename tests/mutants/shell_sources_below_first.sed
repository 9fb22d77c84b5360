# A sourced file is looked for in the working directory first.
# file: core/interop/shell_source.c
# tests: test_shell_source
s/const bool whole = path->text\[0\] == '\/' || path->is_scripts;/const bool whole = path->text[0] == '\/' || path->is_scripts || is_file(path->text);/
