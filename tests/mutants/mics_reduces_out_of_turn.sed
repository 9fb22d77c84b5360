# A reduce-scatter of MiCS does not wait for the sums of the bucket before.
# file: core/lower/reduce.c
# tests: test_hybrid_traffic
/op.flags |= SL_OP_IN_TURN;/d
