# --keep counts and removes whatever is in the folder.
# file: core/checkpoint/folder.c
# tests: test_checkpoint test_cli_checkpoint
s/const bool is = sl_owner_of(path, job) == SL_OWNER_THIS;/const bool is = job != NULL;/
