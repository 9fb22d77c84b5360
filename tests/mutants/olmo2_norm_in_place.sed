# The backward of a norm that is scaled in fp32 needs half the memory.
# file: core/plan/kernel_rows.h
# tests: test_kept
s/70,   13,      16,     0,/70,   13,      8,      0,/
