# The gradients of a stage's inputs are not kept.
# file: core/lower/messages.c
# tests: test_torch_blocks
s/if (stage > 0) messages += 2 \*/if (stage > 0) messages += 1 */
