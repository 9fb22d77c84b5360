# A norm takes in a residual without the bias that tensor parallelism leaves to it.
# file: backend/host/dispatch.c
# tests: same_bits_2
s/c->x\[SL_AT_BRANCH_BIAS\]/NULL/
