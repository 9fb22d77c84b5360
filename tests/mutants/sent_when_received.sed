# A receive counts as sent over the link, too.
# file: core/run/trace_counters.c
# tests: traces
s/return s->op->kind == SL_OP_SEND ? sl_op_comm_bytes(s->op) : 0;/return sl_op_comm_bytes(s->op);/
