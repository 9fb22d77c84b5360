# On one rank the variance goes on to move behind freeze_step.
# file: backend/common/call.c
# tests: onebit_1
s|if (c->op->flags \& SL_OP_FROZEN) adam.beta2 = 1;||
