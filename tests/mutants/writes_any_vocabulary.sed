# Embedding and head that a framework divides otherwise are written as its own.
# file: core/interop/writing.c
# tests: test_written
s/ || strcmp(is, usual) == 0) return SL_OK;/ || strcmp(usual, usual) == 0) return SL_OK;/
