# An all-reduce is taken for the first of its two rings.
# file: core/op/op.h
# tests: test_work
s/SL_MOVE_REDUCE | SL_MOVE_GATHER)/SL_MOVE_REDUCE)/
