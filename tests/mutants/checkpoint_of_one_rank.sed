# A predicted checkpoint has the last rank's bytes alone.
# file: core/checkpoint/predict.c
# tests: test_cli_checkpoint
s/cost->bytes += bytes;/cost->bytes = bytes;/
