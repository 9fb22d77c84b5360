# In fp32 the probabilities are kept twice.
# file: core/plan/kernel_rows.h
# tests: test_kept
s/28,   3,       8,      0,   NOTHING/28,   3,       8,      4,   SL_OP_ATTENTION_BWD/
