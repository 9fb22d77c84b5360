# The folder of an export reaches the terminal as it was typed.
# file: cli/checkpoint.c
# tests: test_cli_truths
s/sl_printable_of(options->out).text/options->out/
