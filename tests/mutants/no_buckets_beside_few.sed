# With a single micro-batch DeepSpeed has no buckets beside whole gradients.
# file: core/lower/bucket.c
# tests: test_whole_sums
s/if (!s->whole_buckets || s->shard_grads) return SL_OK;/if (!s->whole_buckets || s->shard_grads || l->plan->n_micro == 1) return SL_OK;/
