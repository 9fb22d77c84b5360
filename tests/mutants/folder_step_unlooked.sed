# --resume step-000123 is not looked for in the folder of --checkpoint.
# file: core/checkpoint/folder.c
# tests: test_checkpoint
s/  if (folder == NULL || step_of(name) < 0) return SL_OK;/  if (folder == NULL || step_of(name) < 1000) return SL_OK;/
