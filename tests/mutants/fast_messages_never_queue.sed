# Formulas take messages that queue for ones that do not.
# file: fast/schedule.c
# tests: test_fast_odd
s/> p->stage\[s\]->forward.end || 2 \* p->transfer\[i\] > backward) return false;/< 0) return false;/
