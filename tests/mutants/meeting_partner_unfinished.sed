# A collective is finished for its first member alone.
# file: core/check/rendezvous.c
# tests: test_check
s/if (other != last) finish(m, other, lane);/if (other != last \&\& i == 0) finish(m, other, lane);/
