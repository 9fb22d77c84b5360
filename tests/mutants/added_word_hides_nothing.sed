# A token that is refused for what stands beside it hides none that begins in it.
# file: core/tokenizer/added.c
# tests: test_tokenizer
s/      at = end - 1;/      (void)end;/
