# Presets that shard parameters take torch.autocast.
# file: core/plan/refusals.c
# tests: test_autocast_casts
s/if (!ddp \&\& named)$/if (!ddp \&\& !named)/
