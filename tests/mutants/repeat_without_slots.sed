# Periods count as repeated although their micro-batches stand in other slots.
# file: core/place/repeat.c
# tests: test_repeat
s/after(&f->pools\[pool_of_buffer(b)\], s, periods)/after(\&f->pools[pool_of_buffer(b)], s, 0 * periods)/
