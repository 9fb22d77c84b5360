# What a job that is gone left unfinished stays for ever.
# file: core/checkpoint/folder.c
# tests: test_checkpoint
s/^        sl_remove(path);$//
