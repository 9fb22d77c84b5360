# A join is made though one of its symbols has become another.
# file: core/tokenizer/bpe.c
# tests: test_tokenizer
s/if (pair == NULL || pair->made != join.made) continue;/if (pair == NULL) continue;/
