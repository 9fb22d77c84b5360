# A file of JSON lines is trained on byte by byte without a warning.
# file: cli/inputs.c
# tests: test_cli_measure
s/  warn_of_lines("data", options->data, options);//
