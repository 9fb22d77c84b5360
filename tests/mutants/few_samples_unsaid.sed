# Who trains on fewer samples than a step takes is not told.
# file: cli/inputs.c
# tests: test_cli_evaluate
s/  if (samples < batch)$/  if (samples < batch - 1)/
