# The optimizer's states take memory before the first step, and break no block that a backward left.
# file: core/place/replay.c
# tests: test_replay
s/if (i == 0) SL_GO(each_tensor(r, take_moments, &sharded));/if (i == STEPS) SL_GO(each_tensor(r, take_moments, \&sharded));/
s/^  SL_TRY(each_tensor(r, take_weight, &numel));/  SL_TRY(each_tensor(r, take_weight, \&numel)); SL_TRY(each_tensor(r, take_moments, \&shards)); shards = 0;/
