# Validation data begin where the training data do.
# file: core/io/split.c
# tests: test_token_formats
s/if (part == SL_DATA_VALIDATION) SL_TRY/if (false) SL_TRY/
