# Scores that are capped keep nothing for it.
# file: core/plan/kernel_rows.h
# tests: test_kept
s/12,   3,       4,      2,   SL_OP_ATTENTION_BWD/12,   3,       4,      0,   SL_OP_ATTENTION_BWD/
