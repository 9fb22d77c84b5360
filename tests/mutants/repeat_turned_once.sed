# Behind the copied periods a slot stands where it would after one period more.
# file: core/place/periods.c
# tests: test_repeat
s/life.slot = turned(s, slot, copies)/life.slot = turned(s, slot, (int64_t)copies + 1)/
