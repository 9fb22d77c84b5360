# Of values out of tolerance the first that passes is named.
# file: core/record/compare.c
# tests: test_compare
s/while (row->verdict != SL_VERDICT_FAIL) row++;/while (row->verdict == SL_VERDICT_FAIL) row++;/
