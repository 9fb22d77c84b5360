# A comparison prints keys of records as they are.
# file: core/record/compare_print.c
# tests: test_cli_truths
s/sl_printable_of(row->name).text/row->name/
