# Predictions end at a seed that they do not need.
# file: cli/import.c
# tests: test_cli
s/return draws ? SL_MEGATRON_SEED_NEEDED : SL_MEGATRON_SEED_IDLE;/return draws ? SL_MEGATRON_SEED_NEEDED : SL_MEGATRON_SEED_NEEDED;/
