# Hybrid sharding: the groups keep their own gradients.
# file: core/lower/update.c
# tests: grid3d_4 grid3d_8
s/if (owned \&\& l->plan->shard < l->plan->dp)/if (owned \&\& l->plan->shard > l->plan->dp)/
