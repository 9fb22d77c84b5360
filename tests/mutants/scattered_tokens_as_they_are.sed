# What will be reduce-scattered is not stacked first, where DTensor does.
# file: core/models/regions.c
# tests: test_torch_blocks
s/  if (rearranges(g)) {/  if (false) {/
