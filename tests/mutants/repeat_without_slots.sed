# Periods count as repeated although their micro-batches stand in other slots.
# file: core/place/repeat.c
# tests: test_repeat
s/further \&\& same_slots(p, a, b, numbers)/further || same_slots(p, a, b, numbers)/
