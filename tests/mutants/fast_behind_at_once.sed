# What a host launches last is over when it is launched.
# file: fast/stage.c
# tests: test_fast
s/const double end = sl_fast_at(x->host, blocks) + rest;/const double end = sl_fast_at(x->host, blocks);/
