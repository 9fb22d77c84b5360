# The name of a file behind > is an argument of the script, an empty one.
# file: core/interop/shell.c
# tests: test_shell_start
s/ \&\& !r->assigns \&\& !r->redirects;/ \&\& !r->assigns;/
