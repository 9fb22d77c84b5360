# Units that were looked ahead for are not copied out of what was gathered.
# file: core/lower/gather.c
# tests: test_torch_blocks
s/, g->fresh\[unit\] = true;/, g->fresh[unit] = g->request_count == 0;/
