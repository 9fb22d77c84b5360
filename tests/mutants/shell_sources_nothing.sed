# A file that a script sources is not read.
# file: core/interop/shell.c
# tests: test_shell_source
s/    SL_TRY(read_sourced(r));/    (void)read_sourced;/
