# The slowest is chosen.
# file: cost/nccl/choice.c
# tests: test_nccl_choice
s/if (seconds < best.seconds)/if (seconds < INFINITY \&\& (isinf(best.seconds) || seconds > best.seconds))/
