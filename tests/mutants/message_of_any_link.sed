# message_us is taken where it has no effect.
# file: core/cluster/cluster.c
# tests: test_cluster_errors
s/if (link->message > 0 \&\& link->hop != SL_HOP_NETWORK)/if (false)/
