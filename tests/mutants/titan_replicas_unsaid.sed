# Replicas of shard groups are not written: every plan shards over all of its replicas.
# file: core/interop/torchtitan_write.c
# tests: interop_property
s/d->dp \* d->cp \/ d->shard, d->shard \/ d->cp, keeps/1LL, d->dp, keeps/
