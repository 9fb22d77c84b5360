# One rank at ZeRO-3 has no hooks.
# file: core/models/hooks.c
# tests: test_hooks
s/s->hooked == SL_UNITS_WHOLE ||/!s->shard_params ||/
