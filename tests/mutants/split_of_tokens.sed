# Shares of an index are shares of its tokens, not of its documents.
# file: core/io/split.c
# tests: test_token_formats
s/index != NULL ? document_end(index, share, token) : SL_OK/SL_OK/
s/if (index == NULL) \*token/*token/
s/^static enum sl_status document_end/__attribute__((unused)) &/
