# A collective is finished for its first member alone.
# file: core/check/rendezvous.c
# tests: test_check
s/if (!seen_before(m, other)) finish(m, other, lane);/if (!seen_before(m, other) && i == 0) finish(m, other, lane);/
