# Shards of parameters are updated by the first of the whole gradients, as if those were cut, too (FSDP2 in a pipeline).
# file: core/lower/update.c
# tests: grid3d_4
s/l->rank_class->role\[SL_ROLE_PARAM\].form == SL_FORM_SHARD &&$/l->rank_class->role[SL_ROLE_PARAM].form == SL_FORM_SHARD ||/
