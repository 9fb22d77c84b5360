# Formulas take messages that queue for ones that do not.
# file: fast/schedule.c
# tests: test_fast_odd
s/2 \* p->transfer/0 * p->transfer/g
