# Entries beyond the room of a message are dropped.
# file: core/base/listing.c
# tests: test_megatron_names
s/if (listing->left > 0)$/if (listing->left > 999)/
