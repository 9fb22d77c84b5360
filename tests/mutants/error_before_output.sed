# The error of a command whose output and errors go to one file stands before what it says first, or inside it.
# file: cli/main.c
# tests: test_cli_truths
/fflush(stdout);/d
