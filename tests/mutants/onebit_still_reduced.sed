# Compressed steps reduce gradients as those before do.
# file: core/lower/gradients.c
# tests: test_cli_onebit onebit_3
s|if (l->zero != NULL \&\& l->zero->compressed) return false;||
