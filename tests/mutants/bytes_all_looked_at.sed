# Text is read to its end although each byte is a token.
# file: core/io/data.c
# tests: test_data
s/vocab_size >= INT64_C(1) << (8 \* data->token_bytes)/vocab_size > INT64_MAX - 1/
