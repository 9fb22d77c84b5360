# Stages are balanced by the parameters of a whole block, not of a rank.
# file: core/interop/megatron_stages.c
# tests: test_megatron_forks
s| / tp + 6 \* width;| + 6 * width;|
