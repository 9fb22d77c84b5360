# The 16-bit input of a block that is made again is not kept beside its fp32 copy.
# file: core/models/passes.c
# tests: test_kept
s/^  return 2;/  return 0;/
