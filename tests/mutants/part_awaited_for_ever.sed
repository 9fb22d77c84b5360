# Rank 0 waits for the part of another rank also when that has been written, and removed.
# file: core/checkpoint/complete.c
# tests: test_complete
s/if (atomic_load(part->others_told)) since = fmin(since, now);/(void)part->others_told;/
