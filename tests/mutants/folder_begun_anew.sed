# Who begins anew beside checkpoints is not told.
# file: cli/training.c
# tests: test_cli_checkpoint
s/  if (count > 0)$/  if (count > 1000)/
