# There is room for one thread that calls OpenBLAS, not for every thread of a product.
# file: backend/host/warm.c
# tests: test_cli_truths
s/threads > had ? (size_t)(threads - had + 1) : 1;/threads > had \&\& had == 0 ? 2 : 1;/
s/ + arena \* (size_t)(threads - 1);/ + 0 * arena;/
