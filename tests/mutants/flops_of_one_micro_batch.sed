# The rates of a step are in words those of one micro-batch.
# file: cli/flops.c
# tests: monitor_own
s/const char \*counted = micro_batches > 1 ?/const char *counted = micro_batches > 1e9 ?/
