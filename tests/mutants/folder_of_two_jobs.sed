# Two jobs may save in one folder.
# file: core/checkpoint/save.c
# tests: test_cli_checkpoint
s/if (run->local_ranks\[0\] == 0) status = sl_folder_own/if (run->local_ranks[0] < 0) status = sl_folder_own/
