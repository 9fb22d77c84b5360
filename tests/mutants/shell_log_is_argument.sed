# The name of a file behind > is an argument.
# file: core/interop/shell.c
# tests: test_shell
s/  r->redirects = \*r->at != '(';.*/  r->redirects = false;/
