# A block that is given back does not join the free one before it.
# file: core/place/allocator.c
# tests: test_allocator
s/if (before > 0 \&\& !a->blocks\[before - 1\].out) {/if (before > 0 \&\& a->blocks == NULL) {/
