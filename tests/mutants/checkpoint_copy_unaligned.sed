# The copy of a checkpoint has its pieces one after the other: none can go to the disk from where it is.
# file: core/checkpoint/part.c
# tests: test_checkpoint
s/    at += ((in_file - at) % SL_DIRECT_BLOCK + SL_DIRECT_BLOCK) % SL_DIRECT_BLOCK;/    if (in_file < 0) at = 0;/
