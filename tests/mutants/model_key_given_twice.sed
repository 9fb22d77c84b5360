# A key near one that is given is an error.
# file: core/model/keys.c
# tests: test_model_keys
s/if (!given \&\& n </if ((given || keys[i].key != NULL) \&\& n </
