# A context-parallel rank's tokens stand at the start of their sequences.
# file: backend/common/call.c
# tests: grid3d_4
s/if (sl_op_cp(c->op) == 1) return/if (sl_op_cp(c->op) >= 1) return/
