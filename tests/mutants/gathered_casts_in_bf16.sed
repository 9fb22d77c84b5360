# What is cast before a gather is gathered in 16 bits.
# file: core/models/regions.c
# tests: test_torch_blocks
s/    op.dtype = SL_U8;//
