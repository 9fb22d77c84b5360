# A gradient waits for reductions of others, as if their owners' parts were everywhere.
# file: core/place/waits.c
# tests: test_overlap
s/const bool range = writes_in_range(op, operand, b, s);/const bool range = s->offset < 0 \&\& writes_in_range(op, operand, b, s);/
