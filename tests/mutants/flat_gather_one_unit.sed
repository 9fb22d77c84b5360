# FSDP2's flat buffer has room for one unit.
# file: core/lower/flat_gather.c
# tests: test_torch_blocks
s/one + (i > 0 ? bytes_of(l, i - 1) : 0)/one/
