# FSDP under no_sync sums whole gradients in the type of its shards.
# file: core/plan/presets.h
# tests: test_hybrid_traffic
s/  return s->shard_grads ? SL_F32 : c->communication_data_type;/  return s->shard_grads || c != 0 ? SL_F32 : c->communication_data_type;/
