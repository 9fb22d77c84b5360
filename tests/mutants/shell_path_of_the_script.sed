# The folder of a file that is sourced is taken as that of the script.
# file: core/interop/shell_path.c
# tests: test_shell_source
s/is_source ? t->reader->name : t->reader->script/t->reader->script/
