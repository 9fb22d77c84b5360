# An added token of a single word is found inside of longer ones.
# file: core/tokenizer/added.c
# tests: test_tokenizer
s/if (token->single_word \&\& !stands_alone/if (token->single_word \&\& end > size \&\& !stands_alone/
