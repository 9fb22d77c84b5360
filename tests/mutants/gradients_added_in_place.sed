# A product adds to gradients where its framework adds them apart.
# file: core/lower/bind.c
# tests: test_kernel_sets
s/how != SL_ACCUMULATE_IN_PLACE \&\& !fused/false \&\& !fused/
