# The newest checkpoints are removed.
# file: core/checkpoint/folder.c
# tests: test_checkpoint
s/return (s > t) - (s < t);/return (s < t) - (s > t);/
