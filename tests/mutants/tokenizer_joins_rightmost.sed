# Of pairs of one rank the rightmost is joined first.
# file: core/tokenizer/bpe.c
# tests: test_tokenizer
s/a->rank < b->rank : a->at < b->at/a->rank < b->rank : a->at > b->at/
