# FSDP under no_sync reduces every micro-batch all the same.
# file: core/plan/strategy.c
# tests: test_hybrid_traffic
s/if (s->no_sync || s->keeps_messages) s->shard_grads/if (s->keeps_messages) s->shard_grads/
