# --keep counts and removes whatever is in the folder.
# file: core/checkpoint/folder.c
# tests: test_checkpoint test_cli_checkpoint
s/const bool is = sl_owner_is(path, job);/const bool is = job != NULL;/
