# ZeRO-3 does not gather an embedding for its backward.
# file: core/models/ends.c
# tests: test_lowering
s/  if (!s->shard_params || s->units != SL_UNITS_PARAMETER) return count;/  if (s != NULL) return count;/
