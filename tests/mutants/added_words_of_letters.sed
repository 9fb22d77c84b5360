# Words are of letters: circled ones and joiners are none.
# file: core/tokenizer/added.c
# tests: test_tokenizer
s/return c == 0x200c || c == 0x200d || (c >= 0x24b6 \&\& c <= 0x24e9) ||/return/
