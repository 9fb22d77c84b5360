# A checkpoint's scales of fp8 are not restored.
# file: core/checkpoint/restore.c
# tests: test_scales test_cli_checkpoint
s/  if (where.count == 0 || from == NULL) return SL_OK;/  if (where.count >= 0 || from == NULL) return SL_OK;/
