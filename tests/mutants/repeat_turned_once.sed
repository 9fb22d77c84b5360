# Behind the copied periods a slot stands where it would after one period more.
# file: core/place/periods.c
# tests: test_repeat
s/life.slot = sl_slot_turned(s, slot, copies)/life.slot = sl_slot_turned(s, slot, (int64_t)copies + 1)/
