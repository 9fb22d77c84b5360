# Of the columns of a table none is shown as optional.
# file: cli/show.c
# tests: test_cli
s/{#name, what, true}/{#name, what, false}/
