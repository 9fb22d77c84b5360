# NCCL takes the last of its protocols, not the fastest.
# file: cost/collective.c
# tests: test_sim_rings
s/if (seconds < least) least = seconds;/least = seconds;/
