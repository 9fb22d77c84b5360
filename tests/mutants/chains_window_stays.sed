# Behind the copies of an open run, slots that they used have the histories of before.
# file: core/place/chains.c
# tests: test_repeat
s/uint32_t place = w->high + copies; place > w->low/uint32_t place = w->high; place > w->low/
