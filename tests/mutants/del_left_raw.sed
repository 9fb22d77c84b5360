# DEL is a character like any other.
# file: core/base/printable.c
# tests: test_text test_cli_truths
s/point >= 0x7f/point > 0x7f/
