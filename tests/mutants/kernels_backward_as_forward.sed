# The backward of flash attention runs at its forward's speed.
# file: cost/attention.c
# tests: test_cost_kernels
s/\[sl_attention_kernel(work)\]\[backward\]/[sl_attention_kernel(work)][0 * backward]/
