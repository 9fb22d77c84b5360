# Of blanks those of ASCII are taken.
# file: core/tokenizer/added.c
# tests: test_tokenizer
s/ || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;/ || c == 0x2028;/
s/         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;/         c == 0x2028;/
