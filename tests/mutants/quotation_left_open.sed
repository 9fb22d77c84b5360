# A launch script that is cut off inside quotation marks is taken for whole.
# file: core/interop/shell.c
# tests: test_megatron
s/status == SL_OK && r.opened != NULL/false/
