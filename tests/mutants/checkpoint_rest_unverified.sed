# Of what a rank has claimed, what it never reads is not verified.
# file: core/checkpoint/held.c
# tests: test_checkpoint
s/if (held->mine\[i\] && !held->seen\[i\]) status = hold(checkpoint, i);/if (held->mine[i] \&\& !held->seen[i]) held->seen[i] = 1;/
