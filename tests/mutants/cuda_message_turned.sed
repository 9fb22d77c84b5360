# Whoever should send receives, and whoever should receive sends.
# file: backend/cuda/comm/collect.c
# tests: test_cuda_backend
s/if (t->op->kind == SL_OP_SEND)/if (t->op->kind == SL_OP_RECV)/
