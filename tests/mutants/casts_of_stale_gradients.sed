# A gradient that was added to since its cast is not cast again.
# file: core/models/casts.c
# tests: test_torch_blocks
s/operand\[k\].slice.access == SL_READ) continue;/operand[k].slice.access != SL_WRITE) continue;/
