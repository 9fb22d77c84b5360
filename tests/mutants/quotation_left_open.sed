# A launch script that is cut off inside quotation marks is taken for whole.
# file: core/interop/shell.c
# tests: test_shell
s/if (r->opened != NULL) return sl_shell_not_closed/if (false) return sl_shell_not_closed/
