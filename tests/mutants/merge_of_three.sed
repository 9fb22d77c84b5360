# A merge of three tokens is taken for one of its first two.
# file: core/tokenizer/bpe.c
# tests: test_tokenizer
s/json_array_size(merge) == 2/true/
