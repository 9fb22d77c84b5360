# After an overflow the device gets what stood in the host's staging memory.
# file: backend/common/offload.c
# tests: test_offload_train
s/  if (c->x\[SL_AT_PARAM\] != NULL)$/  if (c->dim[0] == 0)/
