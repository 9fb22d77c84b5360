# No token is found among the blanks that another one has taken.
# file: core/tokenizer/added.c
# tests: test_tokenizer
s/(struct sl_added_place){end, token->rstrip ? behind_blanks(text, size, end) : end};/(struct sl_added_place){token->rstrip ? behind_blanks(text, size, end) : end, token->rstrip ? behind_blanks(text, size, end) : end};/
