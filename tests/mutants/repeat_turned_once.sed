# Behind the copied periods a slot stands where it would after one period more.
# file: core/place/turning.c
# tests: test_repeat
s/t->renewed\[i\].slot = sl_slot_turned(s, i, copies)/t->renewed[i].slot = sl_slot_turned(s, i, (int64_t)copies + 1)/
