# Each piece of a product is a call of its own.
# file: core/models/linear.c
# tests: test_tp_overlap
s/(g->in_call ? SL_OP_IN_CALL : 0)/0/
