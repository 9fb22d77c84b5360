# The cache of torch.autocast lets go of a cast behind its last product.
# file: core/models/autocast.c
# tests: test_autocast_casts
s/|| !sl_autocast_casts_apart(l)) continue;/|| !sl_autocast_casts_apart(l) || i >= 0) continue;/
