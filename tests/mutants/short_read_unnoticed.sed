# A file that has become shorter is read as zeros.
# file: core/base/file.c
# tests: test_data test_safetensors
s/if (n == 0) return cut_short(file);/if (n == 0) return memset(to + done, 0, size - done), SL_OK;/
