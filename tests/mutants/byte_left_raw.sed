# A byte that is no UTF-8 reaches the terminal as it is.
# file: core/base/printable.c
# tests: test_text
s/"\\\\x%02x", at\[0\]/"%c", at[0]/
