# Numbers are written with all digits.
# file: core/interop/writing.c
# tests: test_written
s/int digits = 15;/int digits = 17;/
