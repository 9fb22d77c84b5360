# DeepSpeed lets go of its gradients before their copy in fp32 is made.
# file: core/lower/update.c
# tests: test_state_bytes
s/  if (copies == SL_COPIES_FLOAT || (copies == SL_COPIES_FLAT/  if (copies != SL_COPIES_NONE || (copies == SL_COPIES_FLAT/
