# The folder of checkpoints is there before the first of them.
# file: core/checkpoint/save.c
# tests: test_checkpoint
s/  SL_GO_FAIL(sl_folder_check(options->folder));/  SL_GO_FAIL(sl_folder_make(options->folder));/
