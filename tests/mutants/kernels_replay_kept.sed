# What the backward makes again is kept by the forward, too.
# file: core/models/passes.c
# tests: test_kernel_sets
s/if (!backward \&\& .replayed_at.*return SL_OK;//
