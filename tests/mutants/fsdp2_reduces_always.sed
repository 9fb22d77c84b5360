# FSDP2 beside a pipeline reduces gradients after every micro-batch.
# file: core/plan/strategy.c
# tests: test_one_reduction
s/if (s->no_sync || s->keeps_messages) s->shard_grads/if (s->no_sync) s->shard_grads/
