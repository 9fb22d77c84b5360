# FSDP's shards are of the type in which they are gathered, beside fp32 masters.
# file: core/plan/strategy.c
# tests: test_state_bytes
s/  s->casts_shards = fsdp;/  s->casts_shards = false;/
