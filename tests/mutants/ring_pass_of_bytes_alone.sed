# What a pass keeps has to be bytes: torch's ring attention does not pass the check.
# file: core/op/operands.c
# tests: test_torch_blocks
s/WITH(KEPT, WRITE, ANY, SL_OP_KEEPS)/WITH(KEPT, WRITE, BYTES, SL_OP_KEEPS)/
