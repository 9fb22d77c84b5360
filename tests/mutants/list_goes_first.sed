# DeepSpeed without ZeRO lets go of its gradients before their flat copy is made.
# file: core/lower/update.c
# tests: test_state_bytes
s/  if (copies != SL_COPIES_LIST) return SL_OK;/  if (copies != SL_COPIES_NONE) return SL_OK;/
