# Messages that go in turn start beside each other.
# file: core/place/waits.c
# tests: test_blocking_messages
s/op->flags \& SL_OP_IN_TURN/op->flags \& SL_OP_IN_TURN \&\& 0/
