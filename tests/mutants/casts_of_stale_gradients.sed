# A gradient that was added to since its cast is not cast again.
# file: core/models/casts.c
# tests: test_torch_blocks
s/^  forget_written(c, d);$//
